"""What several processes of one training need besides their collectives: shared statistics, signs of life."""
