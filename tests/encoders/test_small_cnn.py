import torch

import lab


def test_it_is_small_and_takes_other_sizes():
    encoder = lab.encoders.create("small_cnn")
    assert 200_000 < sum(p.numel() for p in encoder.parameters()) < 350_000
    assert encoder.input_size == 32 and not encoder.batchnorm_frozen
    for size in (16, 32, 64, 50):
        assert encoder(torch.rand(2, 3, size, size)).shape == (2, 128)


def test_it_learns_to_tell_six_classes_apart():
    """Thirty steps on noisy copies of six patterns: same class nearer than any other."""
    torch.manual_seed(0)
    patterns, labels = torch.rand(6, 3, 32, 32), torch.arange(6).repeat_interleave(4)
    encoder = lab.encoders.create("small_cnn", width=8, dim=16)
    optimiser = torch.optim.Adam(encoder.parameters(), lr=5e-3)
    same = labels[:, None] == labels[None]
    for _ in range(30):
        similarity = (z := encoder(patterns[labels] + 0.3 * torch.randn(24, 3, 32, 32))) @ z.T
        loss = (1 - similarity[same]).mean() + (similarity[~same] - 0.3).clamp(min=0).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        z = encoder.eval()(patterns[labels] + 0.3 * torch.randn(24, 3, 32, 32))
    similarity = (z @ z.T).fill_diagonal_(-1)
    assert (labels[similarity.argmax(dim=1)] == labels).all()
