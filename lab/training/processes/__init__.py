"""What several processes of one training need besides collectives: shared statistics, weights in parts."""
