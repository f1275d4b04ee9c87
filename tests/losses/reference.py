"""The losses by the book: plain loops over the printed formulas, one number at a time, differentiated by autograd.

Rows are used as given; every function takes embeddings [n d] and labels and returns one value a query, [n], NaN for a
query without positives, unless it says otherwise.
"""

import torch


def similarities(rows, items=None):
    items = rows if items is None else items
    return [[torch.dot(q, z) for z in items] for q in rows]


def sigmoid(x):
    return 1 / (1 + torch.exp(-x))


def step(x):
    return torch.ones_like(x) if x >= 0 else torch.zeros_like(x)


def h_minus(t, tau, rho, delta, offset, start):
    joined = start + 1 / (1 + torch.exp(torch.tensor(-delta / tau, dtype=t.dtype)))
    if t > delta:
        return rho * (t - delta) + (joined if offset is None else offset)
    return sigmoid(t / tau) + start if t > 0 else sigmoid(t / tau)


def mean(values, like):
    return torch.stack(values).mean() if values else like.new_tensor(torch.nan)


def ranked_and_positive(labels, q, include_self, self_is_positive):
    ranked = [z for z in range(len(labels)) if include_self or z != q]
    positives = [z for z in ranked if labels[z] == labels[q] and (z != q or self_is_positive)]
    return ranked, positives


def recall_at_k(rows, labels, ks, tau1, tau2, include_self):
    s, values = similarities(rows), []
    for q in range(len(rows)):
        ranked, positives = ranked_and_positive(labels, q, include_self, self_is_positive=False)
        missed = []
        for k in ks if positives else ():
            found = 0
            for x in positives:
                above = sum(sigmoid((s[q][z] - s[q][x]) / tau2) for z in ranked if z != x)
                found = found + sigmoid((k - 1 - above) / tau1)
            missed.append(1 - torch.clamp(found, max=k) / min(k, len(positives)))
        values.append(mean(missed, rows))
    return torch.stack(values)


def average_precision(rows, labels, positive_step, negative_step, include_self):
    s, values = similarities(rows), []
    for q in range(len(rows)):
        ranked, positives = ranked_and_positive(labels, q, include_self, self_is_positive=True)
        precisions = []
        for x in positives:
            among = 1 + sum(positive_step(s[q][z] - s[q][x]) for z in positives if z != x)
            against = sum(negative_step(s[q][z] - s[q][x]) for z in ranked if z not in positives)
            precisions.append(among / (among + against))
        values.append(1 - mean(precisions, rows))
    return torch.stack(values)


def smooth_ap(rows, labels, tau, include_self):
    return average_precision(
        rows, labels, lambda t: sigmoid(t / tau), lambda t: sigmoid(t / tau), include_self
    )


def sup_ap(rows, labels, tau, rho, delta, offset, start, include_self):
    def negative_step(t):
        return h_minus(t, tau, rho, delta, offset, start)

    return average_precision(rows, labels, step, negative_step, include_self)


def ap_loss(rows, labels, include_self):
    """1 - AP with the true step, ties against the positive."""
    return average_precision(rows, labels, step, step, include_self)


def calibration(rows, labels, alpha, beta, include_self):
    s, values = similarities(rows), []
    for q in range(len(rows)):
        positives = [
            z for z in range(len(rows)) if labels[z] == labels[q] and (include_self or z != q)
        ]
        negatives = [z for z in range(len(rows)) if labels[z] != labels[q]]
        too_far = mean([(alpha - s[q][z]).clamp(min=0) for z in positives], rows)
        too_near = (
            mean([(s[q][z] - beta).clamp(min=0) for z in negatives], rows) if negatives else 0
        )
        values.append(too_far + too_near)
    return torch.stack(values)


def contrastive_of_active_pairs(rows, labels, alpha, beta):
    """004 eq. 29 and the released calibration: one number."""
    s, n = similarities(rows), len(rows)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    far = [alpha - s[i][j] for i, j in pairs if labels[i] == labels[j] and s[i][j] < alpha]
    near = [s[i][j] - beta for i, j in pairs if labels[i] != labels[j] and s[i][j] > beta]
    return sum(torch.stack(part).mean() for part in (far, near) if part)


def threshold_consistent_margin(rows, labels, margin_pos, margin_neg, weight_pos, weight_neg):
    """TCM as printed, pairs at a margin included: one number."""
    s, n = similarities(rows), len(rows)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    far = [
        margin_pos - s[i][j] for i, j in pairs if labels[i] == labels[j] and s[i][j] <= margin_pos
    ]
    near = [
        s[i][j] - margin_neg for i, j in pairs if labels[i] != labels[j] and s[i][j] >= margin_neg
    ]
    return sum(
        w * torch.stack(part).mean() for w, part in ((weight_pos, far), (weight_neg, near)) if part
    )


def class_anchor_margin(rows, labels, anchors, m, p, ordered=True):
    """003 eq. 4: one number."""
    attraction = sum(
        ((rows[i] - anchors[labels[i]]) ** 2).sum() / 2 for i in range(len(rows))
    ) / len(rows)
    repulsion = 0
    for i in range(len(anchors)):
        for j in range(len(anchors)):
            if i != j and (ordered or i < j):
                distance = ((anchors[i] - anchors[j]) ** 2).sum().sqrt()
                repulsion = repulsion + (2 * m - distance).clamp(min=0) ** 2 / 2
    short = sum((p - (c**2).sum().sqrt()).clamp(min=0) ** 2 / 2 for c in anchors)
    return attraction + repulsion + short


def cross_entropy(rows, labels, weight, bias):
    values = []
    for row, label in zip(rows, labels, strict=True):
        logits = [torch.dot(w, row) + b for w, b in zip(weight, bias, strict=True)]
        values.append(torch.log(sum(torch.exp(one) for one in logits)) - logits[label])
    return torch.stack(values)


def triangle(value, centre, width):
    return (1 - (value - centre).abs() / width).clamp(min=0)


def histogram_ap(values, labels, q, centres, width, include_self):
    """AP of soft histograms for one query: sum over bins of h+ H+ / H, over the number of positives."""
    ranked, positives = ranked_and_positive(labels, q, include_self, self_is_positive=True)
    found_so_far = seen_so_far = total = 0
    for centre in centres:
        found = sum(triangle(values[z], centre, width) for z in positives)
        seen = sum(triangle(values[z], centre, width) for z in ranked)
        found_so_far, seen_so_far = found_so_far + found, seen_so_far + seen
        if seen_so_far > 0:
            total = total + found * found_so_far / seen_so_far
    return total / len(positives)


def fast_ap(rows, labels, bins, include_self):
    s, values = similarities(rows), []
    for q in range(len(rows)):
        distances = [2 - 2 * one for one in s[q]]
        centres = [4 * b / bins for b in range(bins + 1)]
        if not ranked_and_positive(labels, q, include_self, True)[1]:
            values.append(rows.new_tensor(torch.nan))
            continue
        values.append(1 - histogram_ap(distances, labels, q, centres, 4 / bins, include_self))
    return torch.stack(values)


def softbin_ap(rows, labels, bins, low, include_self):
    s, values = similarities(rows), []
    width = (1 - low) / (bins - 1)
    centres = [1 - b * width for b in range(bins)]
    for q in range(len(rows)):
        clamped = [one.clamp(low, 1) for one in s[q]]
        if not ranked_and_positive(labels, q, include_self, True)[1]:
            values.append(rows.new_tensor(torch.nan))
            continue
        values.append(1 - histogram_ap(clamped, labels, q, centres, width, include_self))
    return torch.stack(values)


def rank_of(scores, x):
    return 1 + sum(
        1 for z in range(len(scores)) if scores[z] > scores[x] or (scores[z] == scores[x] and z < x)
    )


def blackbox_ap(s, labels, lam, margin):
    """Value a query, [n], and the gradient of their mean in the similarities, [n n] (paper variant, query included)."""
    n = len(s)
    values, gradient = torch.zeros(n, dtype=s.dtype), torch.zeros_like(s)
    for q in range(n):
        positive = [labels[z] == labels[q] for z in range(n)]
        scores = [s[q, z].item() - margin * (0.5 if positive[z] else -0.5) for z in range(n)]
        ranks = [rank_of(scores, z) / n for z in range(n)]
        among = [
            rank_of([v for v, p in zip(scores, positive, strict=True) if p], i)
            for i in range(sum(positive))
        ]
        among = iter(among)
        of_rank = [0.0] * n
        precision = 0.0
        for z in range(n):
            if positive[z]:
                a = next(among)
                precision += a / (ranks[z] * n) / sum(positive)
                of_rank[z] = a / (ranks[z] ** 2 * n) / sum(positive) / n
        values[q] = 1 - precision
        moved = [scores[z] + lam * of_rank[z] for z in range(n)]
        for z in range(n):
            gradient[q, z] = -(ranks[z] - rank_of(moved, z) / n) / lam
    return values, gradient


def contextual_similarity(
    rows, k, eps, theta, both=lambda a, b: a * b, intersection=True, complement=True, expansion=True
):
    """w [n][n] of 004 eq. 2-4; `theta` stands in for the step, `both` for logical and."""
    n, s = len(rows), similarities(rows)
    d = [[(2 - 2 * s[i][j]).clamp(min=0) for j in range(n)] for i in range(n)]

    def neighbours(k):
        kth = [sorted(float(one) for one in d[i])[k - 1] for i in range(n)]
        return [[theta(kth[i] - d[i][j] + eps) for j in range(n)] for i in range(n)]

    near = neighbours(k)
    w = near
    if intersection:
        w = [[None] * n for _ in range(n)]
        for i in range(n):
            size = sum(float(one) for one in near[i])
            for j in range(n):
                shared = sum(both(near[i][p], near[j][p]) for p in range(n)) / size
                if complement:
                    strangers = sum(both(1 - near[i][p], 1 - near[j][p]) for p in range(n))
                    shared = (shared + (strangers / (n - size) if size != n else 0)) / 2
                w[i][j] = both(shared, near[i][j])
    if not expansion:
        return w
    close = neighbours(max(1, k // 2))
    averaged = [[None] * n for _ in range(n)]
    for i in range(n):
        mutual = [both(close[i][p], close[p][i]) for p in range(n)]
        for j in range(n):
            averaged[i][j] = sum(both(mutual[p], w[p][j]) for p in range(n)) / sum(mutual)
    return [[(averaged[i][j] + averaged[j][i]) / 2 for j in range(n)] for i in range(n)]


def contextual(rows, labels, k, eps, theta, delta_pos, delta_neg, s_tilde, lam, gamma, **steps):
    """004 eq. 6: one number."""
    n, w = len(rows), contextual_similarity(rows, k, eps, theta, **steps)
    context = (
        sum(
            (float(labels[i] == labels[j]) - w[i][j]) ** 2
            for i in range(n)
            for j in range(n)
            if i != j
        )
        / n**2
    )
    contrast = contrastive_of_active_pairs(rows, labels, delta_pos, delta_neg)
    overall = sum(one for row in similarities(rows) for one in row) / n**2
    return lam * context + (1 - lam) * contrast + gamma * (s_tilde - overall) ** 2


def constant_gradient(alpha):
    """theta of 004 eq. 20: a step forward, slope alpha backward."""

    def theta(x):
        return step(x).detach() + alpha * (x - x.detach())

    return theta


def virtual(rows, labels, alpha):
    """Originals, then one mixture a pair of one class, in row order (000 eq. 8)."""
    couples = [
        (i, j) for i in range(len(rows)) for j in range(i + 1, len(rows)) if labels[i] == labels[j]
    ]
    mixtures = [a * rows[i] + (1 - a) * rows[j] for a, (i, j) in zip(alpha, couples, strict=True)]
    return torch.stack([*rows, *mixtures]), [*labels, *(labels[i] for i, _ in couples)]
