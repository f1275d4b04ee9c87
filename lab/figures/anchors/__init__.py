"""What do class anchors do?"""
