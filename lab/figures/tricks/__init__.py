"""What do the tricks of the trade bring, and what does a comparison measure?"""
