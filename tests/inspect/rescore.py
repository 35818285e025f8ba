"""What Inspect AI makes of cases that uwf-eval has run: the same answers and workspaces, scored by the same judge scripts.

On stdin {"tasks": [{name, prompt, judges: [{name, weight, entry}], cases: [{repeat, workspace, thread, answer}]}]}; on
stdout what Inspect says: the score of each sample in each epoch, and mean and standard error, once over tasks whose epochs
are reduced to their mean, and once for each task over its repeats. No model is asked and nothing is reached.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile

os.environ["INSPECT_DISPLAY"] = "none"
from inspect_ai import Epochs, Task, eval as evaluate  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput  # noqa: E402
from inspect_ai.scorer import Score, mean, scorer, stderr  # noqa: E402
from inspect_ai.solver import solver  # noqa: E402


@solver
def replay():
    """In the place of a model: what was recorded."""

    async def solve(state, generate):
        state.output = ModelOutput.from_content("mockllm/model", case_of(state)["answer"])
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def judges():
    """Runs the task's own judges on a copy of what the case has left; the overall score is their weighted mean."""

    async def score(state, target):
        task, case = state.metadata["task"], case_of(state)
        thread, workspace = case["thread"], case["workspace"]
        values = {judge["name"]: judged(judge["entry"], workspace, thread) for judge in task["judges"]}
        weights = sum(judge["weight"] for judge in task["judges"])
        overall = sum(judge["weight"] * values[judge["name"]] for judge in task["judges"]) / weights
        return Score(value={**values, "overall": overall}, answer=state.output.completion)

    return score


def case_of(state):
    metadata = state.metadata
    return metadata["case"] if "case" in metadata else metadata["task"]["cases"][state.epoch - 1]


@functools.cache
def judged(entry, workspace, thread):
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, "workspace")
        shutil.copytree(workspace, copy, symlinks=True)
        ran = subprocess.run([entry, copy, thread], cwd=copy, stdout=subprocess.PIPE, check=True)
        return float(json.loads(ran.stdout)["score"])


def run(name, samples, epochs, logs):
    task = Task(name=name, dataset=samples, epochs=Epochs(epochs, "mean"), solver=replay(), scorer=judges())
    [log] = evaluate(task, model="mockllm/model", log_dir=logs, log_level="error", score_display=False)
    assert log.status == "success", log.error
    metrics = {of.name: {name: metric.value for name, metric in of.metrics.items()} for of in log.results.scores}
    return log, metrics


def main():
    tasks = json.load(sys.stdin)["tasks"]
    with tempfile.TemporaryDirectory() as logs:
        samples = [Sample(id=task["name"], input=task["prompt"], metadata={"task": task}) for task in tasks]
        log, over_tasks = run("all", samples, len(tasks[0]["cases"]), logs)
        scores = [
            {"task": sample.id, "repeat": sample.epoch, "values": next(iter(sample.scores.values())).value}
            for sample in log.samples
        ]
        by_task = {}
        for task in tasks:
            repeats = [
                Sample(id=case["repeat"], input=task["prompt"], metadata={"task": task, "case": case})
                for case in task["cases"]
            ]
            by_task[task["name"]] = run(task["name"], repeats, 1, logs)[1]
    json.dump({"scores": scores, "overTasks": over_tasks, "byTask": by_task}, sys.stdout)


main()
