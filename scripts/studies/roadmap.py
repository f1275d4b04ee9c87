"""001 (ROADMAP): its two parts one after the other, and against other losses of average precision."""

from scripts.studies.recall import fast, smooth
from scripts.studies.study import Arm, Study, gains

RELEASED = {"variant": "released"}

sup = Arm("SupAP", {"loss": {"name": "sup_ap", **RELEASED}}, ("MAP@R",))
road = Arm("ROADMAP", {"loss": {"name": "roadmap", **RELEASED}}, ("MAP@R", "r@1"))
box = Arm("Blackbox AP", {"loss": {"name": "blackbox_ap"}}, ("MAP@R",))
soft = Arm("SoftBin AP", {"loss": {"name": "softbin_ap"}}, ("MAP@R",))
cnn_sup = Arm("SupAP, CNN", {"loss": {"name": "sup_ap", **RELEASED}}, ("MAP@R",), tier="cnn")
cnn_smooth = Arm("SmoothAP, CNN", {"loss": {"name": "smooth_ap"}}, ("MAP@R",), tier="cnn")

MAP = "MAP@R", "MAP@R"
PARTS = gains("001", ("table 3", "SupAP"), ("table 3", "SmoothAP"), "MAP@R")


def ahead(other: str) -> tuple:
    return gains("001", ("table 1", "ROADMAP"), ("table 1", other), "MAP@R")


sup_ap = Study("SupAP beats SmoothAP.", PARTS, sup, smooth, MAP)
sup_ap_cnn = Study(
    "SupAP beats SmoothAP where a whole network is trained.",
    PARTS,
    cnn_sup,
    cnn_smooth,
    MAP,
    "A small CNN from random weights, a hundred steps.",
)
calibration = Study(
    "Calibration adds to SupAP: ROADMAP beats it.",
    gains("001", ("table 3", "ROADMAP"), ("table 3", "SupAP"), "MAP@R"),
    road,
    sup,
    MAP,
)
roadmap_smooth_ap = Study("ROADMAP beats SmoothAP.", ahead("SmoothAP"), road, smooth, MAP)
roadmap_fast_ap = Study("ROADMAP beats FastAP.", ahead("FastAP"), road, fast, MAP)
roadmap_blackbox_ap = Study("ROADMAP beats Blackbox AP.", ahead("BlackBox"), road, box, MAP)
roadmap_softbin_ap = Study("ROADMAP beats SoftBin AP.", ahead("SoftBin"), road, soft, MAP)
