"""What several processes of one training need besides collectives: a start, shared statistics, weights in parts."""
