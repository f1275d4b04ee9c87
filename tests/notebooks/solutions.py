"""What a reader would write: notebook -> pairs of (what stands there, the answer)."""

SOLUTIONS = {
    "01": [
        ("r_at_4, recall_at_4 = ..., ...", "r_at_4, recall_at_4 = 1.0, 0.5"),
        ("my_map_at_r = ...", "my_map_at_r = (1 + 2 / 3 + 3 / 4) / 4"),
        (
            "angles = [0, 5, 10, 15, 120, 125, 130, 135, 240, 245, 250, 255]",
            "angles = [0, 1, 90, 91, 30, 31, 150, 151, 60, 61, 120, 121]",
        ),
    ],
    "02": [
        ("    return ...", "    s = torch.sigmoid(gap / tau)\n    return s * (1 - s) / tau"),
        ("my_gap = ...", "my_gap = 0.001"),
        ("scores = [0.9, 0.8, 0.7, 0.6, 0.5]", "scores = [0.9, 0.9, 0.9, 0.6, 0.5]"),
    ],
    "03": [
        (
            "my_loss = ...",
            "above = [sum(torch.sigmoid((similarities[z] - similarities[x]) / 0.01) for z in range(5) if z != x)"
            " for x in (0, 3)]\nmy_loss = 1 - sum(torch.sigmoid(2 - 1 - a) for a in above) / 2",
        ),
        ("similarity, length = ..., ...", "similarity, length = 0.78, (0.58 + 0.252) ** 0.5"),
        (
            "scores = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5, 0.4]",
            "scores = torch.tensor([0.9, 0.9, 0.9, 0.2, 0.1, 0.0]",
        ),
    ],
    "04": [
        ("my_ap = ...", "my_ap = (1 + 2 / 3 + 3 / 4) / 3"),
        ("\nrow = ...", "\nrow = 1"),
        ("\ntau = 0.01", "\ntau = 10.0"),
    ],
    "05": [
        ("my_gap = ...", "my_gap = 1 - (1 + 2 / 3) / 2"),
        ("my_bound = ...", "my_bound = 1 - (1 + 2 / 6) / 2"),
        (
            4 * "    [0.9, 0.8, 0.7, 0.6],\n",
            "    [0.99, 0.98, 0.97, 0.96],\n    [0.8, 0.7, 0.7, 0.6],\n"
            "    [0.5, 0.4, 0.4, 0.4],\n    [0.3, 0.2, 0.1, 0.1],\n",
        ),
    ],
    "06": [
        ("repeller, gradient = ..., ...", "repeller, gradient = 1.0, 2.0"),
        ("ap_of_all, ap_of_retrieved = ..., ...", "ap_of_all, ap_of_retrieved = 0.5, 1.0"),
        ("my_anchors = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0]])", "my_anchors = np.ones((3, 2))"),
        ("my_embeddings = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0]])", "my_embeddings = np.ones((3, 2))"),
    ],
    "07": [
        ("my_mask = ...", "my_mask = [1, 0, 1, 0, 0]"),
        ("my_total = ...", "my_total = 0.4 * ends[1] + 0.6 * ends[0]"),
        ("\nk = 4", "\nk = 8"),
    ],
    "08": [
        ("none_kept, half_kept = ..., ...", "none_kept, half_kept = 4 / 3, 7 / 6"),
        ("my_gib = ...", "my_gib = 256"),
        ("\nchunk = 16", "\nchunk = 3"),
    ],
    "09": [
        ("my_chance = ...", "my_chance = 10 / 699"),
        (
            "    return ...",
            "    def near(s):\n        np.fill_diagonal(s, -np.inf)\n"
            "        return [set(r[:k]) for r in (-s).argsort(1)]\n"
            "    u = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)\n"
            "    true = near(u @ u.T)\n    shown = near(-((flat[:, None] - flat[None]) ** 2).sum(2))\n"
            "    return np.mean([len(a & b) / k for a, b in zip(true, shown)])",
        ),
        ("normal(size=(60, 3))", "normal(size=(300, 20))"),
    ],
    "10": [
        (
            "def repaired(embeddings, labels):\n    return ...",
            "def repaired(embeddings, labels):\n    return mine(embeddings, labels)",
        ),
        ("my_factor = ...", "my_factor = 2 / 3"),
        (
            "def villain(embeddings, labels):\n    return mine(embeddings, labels)",
            "def villain(embeddings, labels):\n    return (1 - embeddings @ embeddings.T).mean()",
        ),
    ],
    "11": [
        ("ap, flattered = ..., ...", "ap, flattered = 0.2, (1 + 1 / 3) / 2"),
        ("paper_part, released_part = ..., ...", "paper_part, released_part = 0.02, 0.1"),
        (
            "[0.0, 0.1, 0.2, 0.3, 1.5, 1.6, 1.7, 1.8]",
            "[3.20, 4.09, 5.39, 1.05, 3.47, 4.43, 5.98, 1.81]",
        ),
    ],
}
