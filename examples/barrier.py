"""A gang whose processes are the tasks of a Spark barrier stage: Spark finds the machines, and starts all of them again when one fails.

    spark-submit --master spark://main:7077 barrier.py 3 -- npx distarray run -- node train.js

One process that is killed is started again by distarray run, without this; this is for rank 0, and for machines. With DA_CKPT, a folder
that all machines see, the program goes on where it was. Variables DA_… of the shell that submits are for every process.
"""
import os
import secrets
import socket
import subprocess
import sys
import time

from pyspark import BarrierTaskContext, SparkConf, SparkContext

# Spark begins the next attempt before the tasks of the last one have ended: it looks every two seconds whether a task is to be killed,
# and then gives its Python so long. Two programs must not write into one checkpoint.
KILL_TIMEOUT = "100ms"
SECONDS_BETWEEN_ATTEMPTS = 4

world = int(sys.argv[1])
command = sys.argv[sys.argv.index("--") + 1 :]
common = {name: value for name, value in os.environ.items() if name.startswith("DA_")}
common.setdefault("DA_TOKEN", secrets.token_hex(16))
folder = os.getcwd()


def free_port():
    with socket.socket() as one:
        one.bind(("", 0))
        return one.getsockname()[1]


def rank(_):
    task = BarrierTaskContext.get()
    number = task.partitionId()
    hosts = [info.address.rsplit(":", 1)[0] for info in task.getTaskInfos()]
    is_one = len(set(hosts)) == 1
    # No task of this application comes before these, so their numbers tell the attempt: 0 to N - 1, N to 2 N - 1.
    port, attempt = task.allGather(f"{free_port()} {task.taskAttemptId() // world}")[0].split()
    if attempt != "0":
        time.sleep(SECONDS_BETWEEN_ATTEMPTS)
    variables = {
        "DA_JOB": f"spark {job}",
        "DA_RANK": str(number),
        "DA_WORLD": str(world),
        "DA_ATTEMPT": attempt,
        "DA_RDZV": f"{'127.0.0.1' if is_one else hosts[0]}:{port}",
        "DA_HOST": "127.0.0.1" if is_one else hosts[number],
    }
    env = {**os.environ, **common, **variables}
    process = subprocess.Popen(command, env=env, cwd=folder if os.path.isdir(folder) else None, start_new_session=True)
    # What a task has started would go on when Spark kills the task: the pipe to the task ends then, and with it that group of processes.
    guard = subprocess.Popen(
        ["sh", "-c", 'read -r _; kill -KILL "-$0"', str(process.pid)], stdin=subprocess.PIPE, start_new_session=True
    )
    code = process.wait()
    guard.kill()
    guard.wait()
    if code != 0:
        raise RuntimeError(f"rank {number} ended with status {code}")
    task.barrier()  # a stage of which a task has ended is not started again as a whole
    yield number, code


context = SparkContext(conf=SparkConf().setAppName("distarray").set("spark.python.task.killTimeout", KILL_TIMEOUT))
job = context.applicationId
try:
    # Spark starts a barrier stage again only where it is not the last one: a shuffle stands behind it.
    context.parallelize(range(world), world).barrier().mapPartitions(rank).groupByKey(1).collect()
finally:
    context.stop()
