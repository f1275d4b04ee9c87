"""What does a loss over neighbourhoods see?"""
