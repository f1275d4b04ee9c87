"""What do neighbourhoods tell?"""
