"""Products of tiles: torch's and oneDNN's agree, tie alike, and the one is there when the other is not."""

from __future__ import annotations

import pytest
import torch

from lab.kernels.cpu import products


@pytest.fixture(params=[False, True], ids=["torch's", "oneDNN's"])
def chosen(request, monkeypatch):
    """torch has the operator on every CPU that it brings oneDNN for; only the processor decides who is the quicker."""
    monkeypatch.setattr(
        products,
        "onednn_is_quicker",
        lambda: request.param and torch.backends.mkldnn.is_available(),
    )


@pytest.mark.parametrize("m, n, d", [(256, 256, 512), (7, 3, 5), (1, 40, 64), (0, 4, 8)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_against_float64(chosen, m, n, d, dtype):
    draw = torch.Generator().manual_seed(0)
    a, b = (torch.randn(rows, d, generator=draw, dtype=torch.float64) for rows in (m, n))
    target, of_tile = a.clone(), torch.randn(n, m, generator=draw, dtype=torch.float64).T
    close = dict(rtol=1e-9, atol=1e-9) if dtype == torch.float64 else dict(rtol=1e-5, atol=3e-4)
    torch.testing.assert_close(
        products.product(a.to(dtype), b.to(dtype)), (a @ b.T).to(dtype), **close
    )
    found = target.to(dtype, copy=True)
    products.add_product(found, of_tile.to(dtype), b.to(dtype))
    torch.testing.assert_close(found, (target + of_tile @ b).to(dtype), **close)


@pytest.mark.parametrize("count", [201, 9, 7, 2])
def test_equal_rows_tie_and_a_tile_of_itself_is_symmetric(chosen, count):
    rows = torch.randn(count, 512, generator=torch.Generator().manual_seed(0))
    rows[-1] = rows[count // 3]
    tile = products.product(rows, rows)
    assert torch.equal(tile[-1], tile[count // 3]) and torch.equal(tile, tile.T)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_number_does_not_depend_on_how_many_rows_stand_beside_it(chosen, dtype):
    rows = torch.randn(300, 64, generator=torch.Generator().manual_seed(0), dtype=dtype)
    many = products.product(rows, rows[: products.FEW])
    for few in range(products.FEW):
        assert torch.equal(products.product(rows, rows[:few]), many[:, :few])
        assert torch.equal(products.product(rows[:few], rows[: products.FEW]), many[:few])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_similarities_to_equal_rows_are_made_equal(dtype):
    distinct = torch.randn(7, 33, generator=torch.Generator().manual_seed(0), dtype=dtype)
    names = torch.arange(65) % 7
    rows = distinct[names]
    products_of_all = rows @ rows.T
    tied = products.tie(products_of_all.clone(), products.repeats(rows))
    assert torch.equal(tied, products_of_all[:, names])  # the first of each kind stand in front
    for unlike in (
        distinct,
        torch.eye(5, dtype=dtype),
        distinct[:1],
        distinct[:0],
        distinct[:, :0],
    ):
        assert products.repeats(unlike) is None
