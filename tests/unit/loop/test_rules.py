"""Where each rule of the loop is proved: a table of rules and the tests that would fail without them.

A test that is renamed or removed leaves a hole here, and the last test of this file says which.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
TURNS = "unit/loop/test_turns.py"
STOP = "unit/loop/test_stop.py"
BATCH = "unit/loop/test_batch.py"
MODEL = "unit/loop/test_model_errors.py"
ASK = "unit/loop/test_questions.py"
ORDER = "unit/loop/test_durable_order.py"
REST = "unit/loop/test_maintenance.py"
SHORT = "unit/loop/test_compaction.py"
RANDOM = "unit/loop/test_schedules.py"
ROUNDS = "unit/goals/test_rounds.py"
CONTEXT = "unit/goals/test_goal_context.py"
RECOVERY = "unit/sessions/test_recovery.py"
FOLD = "unit/domain/test_fold.py"
STREAM = "contract/test_model_endpoint.py"
WIRE = "e2e/test_over_the_wire.py"
SHORT_WIRE = "e2e/test_compaction_over_the_wire.py"

# fmt: off
# ruff: noqa: E501
RULES: list[tuple[str, str, str]] = [
    # Beats
    ("a turn is written in one order", TURNS, "test_a_prompt_is_answered_and_the_log_tells_it_in_order"),
    ("turns and steps have no gap", RANDOM, "test_what_must_hold_under_random_schedules"),
    ("the start of a turn and its claim are one commit", ORDER, "test_an_idle_prompt_is_one_commit_up_to_its_request_header"),
    ("a turn ends when nothing is called and nobody waits", TURNS, "test_a_steer_after_the_last_words_is_answered_in_the_same_turn"),
    # State
    ("idle, nothing queued, no armed goal: no request", TURNS, "test_an_idle_session_with_nothing_queued_makes_no_request"),
    ("maintenance is shown, one job at a time", REST, "test_only_one_job_runs_and_none_beside_a_turn"),
    ("a message in maintenance runs right after it", REST, "test_a_prompt_in_maintenance_is_queued_and_runs_right_behind_it_in_the_same_commit"),
    ("a steer in maintenance is queued", REST, "test_a_steer_in_maintenance_is_queued_and_starts_its_turn_ahead_of_what_waits"),
    ("stop ends maintenance", REST, "test_stop_aborts_the_job_and_holds_what_waited"),
    ("no round moves in maintenance", CONTEXT, "test_no_round_starts_in_maintenance_and_the_next_one_does_after_it"),
    ("what is waited for is told", TURNS, "test_what_the_session_waits_for_is_told_while_it_runs"),
    # Inbox
    ("one turn a prompt, in order", TURNS, "test_a_burst_of_prompts_in_one_tick_gives_as_many_turns_in_order"),
    ("an answered prompt's turn is durable", TURNS, "test_turn_start_is_durable_when_a_prompt_is_answered"),
    ("a steer joins after all results of the batch", TURNS, "test_a_steer_joins_the_next_step_after_all_results_of_the_batch"),
    ("a steer after the end has its own turn", TURNS, "test_a_steer_after_the_end_gets_a_turn_of_its_own"),
    ("a notice wakes nobody", TURNS, "test_a_notice_wakes_nobody_and_waits_for_the_next_turn"),
    ("at a bad end steers move in front, notices stay", MODEL, "test_a_turn_that_ends_badly_holds_prompts_and_steers_alike"),
    ("a steer withdraws an open question", ASK, "test_a_steer_withdraws_the_question_and_joins_the_next_step"),
    ("a steer answers no approval", BATCH, "test_a_steer_while_an_approval_is_open_answers_nothing_and_waits"),
    ("a message id is answered once, for ever", TURNS, "test_the_same_message_id_is_answered_with_the_first_outcome_and_queues_nothing"),
    ("the queue survives a restart, held", RECOVERY, "test_waiting_messages_are_held_with_steers_in_front"),
    ("a fork does not inherit the queue", "unit/sessions/test_fork.py", "test_every_cut_of_a_log_can_be_forked_and_nothing_waits_or_moves"),
    ("stop holds what waited", STOP, "test_stop_holds_what_waited_until_it_is_released"),
    ("held messages can be changed", STOP, "test_messages_that_a_stop_holds_can_still_be_changed_and_withdrawn"),
    ("an exit holds what waits", MODEL, "test_an_exit_holds_what_waits"),
    ("a round that fails holds nothing", CONTEXT, "test_a_round_that_fails_holds_nothing_of_a_persons"),
    ("an empty queue is never held", STOP, "test_a_queue_that_is_emptied_while_it_is_held_is_held_no_more"),
    ("a prompt releases what it stands behind", STOP, "test_a_prompt_goes_behind_a_held_queue_and_releases_it"),
    ("a goal's create and resume release the queue", CONTEXT, "test_creating_or_resuming_a_goal_releases_a_held_queue_and_its_turns_run_first"),
    ("words after the signal: a prompt", STOP, "test_a_prompt_after_the_signal_releases_the_queue_behind_which_it_stands"),
    ("words after the signal: a steer", STOP, "test_a_steer_after_the_signal_starts_its_turn_at_the_end_of_the_stopped_one"),
    ("a message that is sent while busy is never lost", RANDOM, "test_what_must_hold_under_random_schedules"),
    # Cancel
    ("stop before the request", STOP, "test_stop_before_the_request_leaves_no_chunk_and_asks_nothing"),
    ("stop in mid-stream keeps the words", STOP, "test_stop_in_mid_stream_keeps_exactly_the_words_that_were_seen"),
    ("stop in mid-stream keeps the reasoning", STOP, "test_stop_in_mid_stream_keeps_the_reasoning_that_was_seen_too"),
    ("stop with only pieces of calls", STOP, "test_stop_with_only_pieces_of_calls_leaves_no_message"),
    ("stop while waiting to retry", STOP, "test_stop_while_waiting_to_retry_makes_no_further_attempt"),
    ("a pause while waiting to retry", ROUNDS, "test_pause_while_a_round_waits_to_retry_makes_no_further_attempt"),
    ("stop with an approval open", STOP, "test_stop_while_an_approval_is_open_withdraws_it_and_starts_nothing"),
    ("stop with a question open", ASK, "test_a_stop_withdraws_the_question_and_its_call_never_started"),
    ("stop with calls not started", STOP, "test_stop_during_a_tool_keeps_what_finished_and_never_starts_the_rest"),
    ("stop in a parallel batch", STOP, "test_stop_during_a_parallel_batch_of_ten_ends_them_all_and_keeps_the_order"),
    ("a tool that ignores the stop", STOP, "test_a_tool_that_ignores_the_stop_is_left_after_the_grace"),
    ("a process that ignores the stop", "unit/processes/test_process_ends.py", "test_a_stop_ends_the_whole_tree_within_the_grace"),
    ("stop after the tools", STOP, "test_stop_after_the_tools_keeps_their_results"),
    ("stop at any tick between two steps", STOP, "test_a_stop_at_any_tick_between_two_steps_starts_nothing_more"),
    ("stop while it is summed up", SHORT, "test_a_stop_while_it_is_summed_up_ends_the_turn_and_sends_nothing_more"),
    ("the first cause wins", STOP, "test_the_first_cause_of_an_end_wins"),
    ("a second stop is harmless, one while idle nothing", STOP, "test_a_second_stop_is_harmless_and_a_stop_when_idle_does_nothing"),
    ("stop between rounds pauses the goal", ROUNDS, "test_stop_between_two_rounds_pauses_the_goal"),
    ("stop closes the connection in milliseconds", WIRE, "test_stop_closes_the_model_connection_in_milliseconds"),
    ("stop of a real command ends its children", WIRE, "test_stop_ends_a_running_command_with_its_children"),
    ("after any stop the next request is strict", RANDOM, "test_what_must_hold_under_random_schedules"),
    # Tools
    ("calls are classified by their arguments", BATCH, "test_a_call_is_classified_by_its_actual_arguments"),
    ("an exclusive call is a barrier", BATCH, "test_an_exclusive_call_is_a_barrier"),
    ("the pool rolls", BATCH, "test_the_pool_rolls"),
    ("the batch is logged first", BATCH, "test_the_whole_batch_is_logged_before_anything_starts"),
    ("a start is durable before its body", ORDER, "test_a_body_runs_only_when_its_start_is_durable"),
    ("results in the model's order", BATCH, "test_results_are_committed_in_the_models_order_whatever_ends_first"),
    ("one approval at a time, in order", BATCH, "test_one_approval_is_open_at_a_time_in_the_models_order"),
    ("an approval waits for its barrier", BATCH, "test_an_approval_is_asked_only_when_everything_before_its_barrier_is_done"),
    ("parallel calls run beside an open approval", BATCH, "test_the_parallel_calls_beside_an_open_approval_run_meanwhile"),
    ("a denial leaves the siblings alone", BATCH, "test_a_denied_call_is_told_with_the_persons_words_and_its_siblings_go_on"),
    ("two spellings are one file", "unit/tools/test_edit.py", "test_two_spellings_edit_one_file"),
    ("bad calls are results", BATCH, "test_a_call_that_cannot_run_gets_an_error_and_the_turn_goes_on"),
    ("empty arguments are none", BATCH, "test_empty_arguments_mean_none"),
    # Model errors
    ("retries are bounded", MODEL, "test_retries_end_after_five_and_the_turn_says_why"),
    ("how long a retry waits", MODEL, "test_how_long_a_retry_waits"),
    ("what cannot get better is not retried", MODEL, "test_what_cannot_get_better_is_not_retried"),
    ("failed words never reach history", MODEL, "test_a_failed_attempt_is_retried_and_its_words_never_reach_history"),
    ("no content is a time-out", STREAM, "test_no_content_for_the_idle_limit_is_a_timeout"),
    ("a total limit", STREAM, "test_a_stream_that_goes_on_is_not_idle_but_ends_at_the_total_limit"),
    ("[DONE] finishes", STREAM, "test_done_without_a_reason_finishes_the_answer"),
    ("calls without a reason run only whole", MODEL, "test_calls_without_a_finish_reason_run_only_if_they_are_whole"),
    ("a cut stream runs nothing", MODEL, "test_a_stream_that_ends_without_a_finish_runs_nothing_and_is_tried_again"),
    ("a cut reply runs nothing, the third ends", BATCH, "test_a_reply_cut_by_the_output_limit_runs_nothing_and_the_third_ends_the_turn"),
    ("only in a row", BATCH, "test_cut_replies_count_only_in_a_row"),
    ("a cut text ends the turn", BATCH, "test_a_cut_text_without_calls_ends_the_turn"),
    ("too long: shorter, and once more", SHORT, "test_a_request_that_is_refused_as_too_long_is_made_shorter_and_sent_once_more"),
    ("too long again: the end, with advice", SHORT, "test_a_second_refusal_ends_the_turn_with_what_to_do_and_the_session_goes_on"),
    ("no try without a gain", SHORT, "test_an_overflow_that_cannot_be_made_shorter_is_not_sent_again"),
    ("two failures in a row end the turn", SHORT, "test_a_summary_that_does_not_shrink_the_context_is_dropped_and_two_in_a_row_end_the_turn"),
    # The log
    ("every request from the log alone", SHORT, "test_every_request_can_be_rebuilt_from_the_log_alone_after_compactions_too"),
    ("the same over a restart", SHORT_WIRE, "test_the_request_after_a_restart_is_the_same_byte_for_byte"),
    ("a valid log changed once is refused", FOLD, "test_every_prefix_folds_and_a_fold_can_be_continued"),
    ("message, calls and starts: one commit", ORDER, "test_the_message_its_calls_and_the_starts_that_need_no_approval_are_one_commit"),
    ("results and the next step: one commit", ORDER, "test_the_results_the_steps_end_and_the_next_start_are_one_commit"),
    ("nobody is told before the commit", ORDER, "test_no_request_is_sent_and_nobody_is_told_before_the_commit"),
    ("chunks in groups", ORDER, "test_chunks_are_committed_in_groups_the_first_at_once"),
    ("a storage error suspends", MODEL, "test_a_storage_error_suspends_the_session_and_loses_nothing"),
    ("recovery closes every prefix", RECOVERY, "test_every_prefix_of_a_log_opens_and_nothing_moves_by_itself"),
    ("a call that ran is unknown", RECOVERY, "test_a_call_that_ran_is_unknown_and_one_that_did_not_is_safe"),
    ("kill -9 in mid-turn", WIRE, "test_after_kill_9_in_mid_turn_nothing_is_lost_and_nothing_moves"),
    # Context
    ("results are shortened first", SHORT, "test_long_results_are_shortened_first_and_that_costs_no_request"),
    ("a shortened result can be read whole", SHORT, "test_a_shortened_result_can_be_read_whole_by_its_handle"),
    ("a summary has the same prefix and is paid for", SHORT, "test_the_summary_is_asked_with_the_same_prefix_and_is_paid_for"),
    ("people keep their words", SHORT, "test_what_a_person_said_stays_in_their_own_words_through_every_compaction"),
    ("in a fifth of the window", SHORT, "test_long_words_are_cut_to_a_fifth_of_the_window_and_short_ones_stay_whole"),
    ("the objective is pinned", CONTEXT, "test_every_request_after_a_summary_carries_the_objective_once_from_the_state"),
    ("a call stays with its results", SHORT, "test_a_call_and_its_results_are_never_parted"),
    ("the prefix stands still", SHORT, "test_between_two_compactions_the_prefix_is_the_same_byte_for_byte_over_fifty_steps"),
    ("an unknown window is said once", SHORT, "test_an_unknown_window_is_said_once_where_it_matters"),
]
# fmt: on


@pytest.mark.parametrize(("rule", "file", "test"), RULES, ids=[rule for rule, _, _ in RULES])
def test_each_rule_has_its_proof(rule: str, file: str, test: str) -> None:
    source = (TESTS / file).read_text(encoding="utf-8")
    assert f"def {test}(" in source, f"{rule}: {file} has no {test}"
