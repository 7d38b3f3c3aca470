"""What other tools call a measure."""

import re
from collections.abc import Iterable

TREC_EVAL = re.compile(
    r"(gm_)?(map|bpref|ndcg|ndcg_rel|infap|11pt_avg|utility|Rprec|Rprec_mult|Rndcg|recip_rank|success|binG|G|P|recall"
    r"|relative_P|iprec_at_recall|ndcg_cut|map_cut|set_\w+|num_\w+|rel\w*|ret\w*|runid|relstring|yaap)([_.]\S*)?",
)
IR_MEASURES = re.compile(
    r"(AP|nDCG|P|R|RR|MRR|MAP|ERR|RBP|BPM|INST|INSQ|SDCG|Rprec|Bpref|Judged|Success|Accuracy|SetP|SetR|SetF|SetRelP"
    r"|SetAP|IPrec|infAP|NumQ|NumRel|NumRet|NERR\d*|alpha_DCG|alpha_nDCG|AP_IA|ERR_IA|nERR_IA|NRBP|nNRBP|P_IA"
    r"|StRecall|Compat)(\(.*\))?(@\S+)?",
)
NO_NUMBERS = re.compile(r"runid|relstring\S*")  # what trec_eval prints with a text
OTHER_MEASURES = re.compile(r"(ndcg|dcg|map|mrr|rr|precision|recall|hit_rate|hits|f1)(@\d+)?", re.IGNORECASE)  # ranx


def are_measures(names: Iterable[str]) -> bool:
    """Return whether names are those that trec_eval, ir_measures or ranx have for measures."""
    given = [*names]
    patterns = (TREC_EVAL, IR_MEASURES, OTHER_MEASURES)
    return bool(given) and all(any(pattern.fullmatch(name) for pattern in patterns) for name in given)
