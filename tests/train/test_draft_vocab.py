import torch

from headstart.train.draft_vocab import frequent_ids, lookup_table


def test_answers_count_first_then_prompts_then_low_ids() -> None:
    answers = [torch.tensor([7, 7, 5], dtype=torch.int32), torch.tensor([5, 7, 9])]
    prompts = [torch.tensor([2, 2, 9, 4])]
    # 7 three times, 5 twice, 9 once; then of the prompts 2 twice and 4 once; then 0, 1, 3 by id
    assert frequent_ids(answers, prompts, 10, 8).tolist() == [7, 5, 9, 2, 4, 0, 1, 3]


def test_ties_go_to_the_lower_id() -> None:
    assert frequent_ids([torch.tensor([6, 3])], [], 8, 2).tolist() == [3, 6]


def test_lookup_gives_places_and_minus_one_elsewhere() -> None:
    table = lookup_table(torch.tensor([2, 5]), 6)
    assert table[torch.tensor([2, 5, 0, -1])].tolist() == [0, 1, -1, -1]
    assert lookup_table(None, 3)[torch.tensor([0, 2, -1])].tolist() == [0, 2, -1]
