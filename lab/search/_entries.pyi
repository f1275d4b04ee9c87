from lab.search.exact import Exact as Exact
from lab.search.faiss_flat import FaissFlat as FaissFlat
from lab.search.faiss_ivf import FaissIvf as FaissIvf
from lab.search.faiss_ivf_pq import FaissIvfPq as FaissIvfPq
from lab.search.streamed import Streamed as Streamed
from lab.search.two_stage import TwoStage as TwoStage
