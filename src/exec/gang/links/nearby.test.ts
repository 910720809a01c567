import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { Nearby, type Watched, whereabouts } from './nearby.ts'

const pids: number[] = []
afterEach(() => {
  for (const pid of pids.splice(0)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it has ended
    }
  }
})

const PROGRAM = 'console.log(process.pid); setInterval(() => undefined, 1000)'

/** A process; one with a parent that never asks how it ended stays in the list of processes, without memory. */
async function sleeper(parent: 'here' | 'never asks'): Promise<{ readonly child: ChildProcess; readonly pid: number }> {
  const stdio = ['ignore', 'pipe', 'ignore'] as const
  const child =
    parent === 'here'
      ? spawn(process.execPath, ['-e', PROGRAM], { stdio: [...stdio] })
      : spawn('sh', ['-c', '"$0" -e "$1" & exec sleep 60', process.execPath, PROGRAM], { stdio: [...stdio] })
  const [said] = await once(child.stdout as NonNullable<typeof child.stdout>, 'data')
  const pid = Number(String(said))
  pids.push(pid, child.pid as number)
  return { child, pid }
}

function watched(): Watched & { readonly reasons: string[] } {
  const reasons: string[] = []
  return { reasons, end: (why) => void reasons.push(why) }
}

const later = async (milliseconds: number): Promise<void> => await new Promise((resolve) => setTimeout(resolve, milliseconds))
async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !isSo() && Date.now() < end; ) await later(5)
  expect(isSo()).toBe(true)
}

// what is looked at is Linux's
test.runIf(existsSync('/proc/self/statm'))('a process that ends is noticed once, one that sleeps or stands still is not', async () => {
  const [ends, stays] = [await sleeper('never asks'), await sleeper('here')]
  const nearby = new Nearby()
  const [first, second] = [watched(), watched()]
  nearby.watch(first, { ...whereabouts(), pid: ends.pid })
  nearby.watch(second, { ...whereabouts(), pid: stays.pid })
  process.kill(stays.pid, 'SIGSTOP')
  await later(100)
  expect([first.reasons, second.reasons]).toEqual([[], []])
  process.kill(ends.pid, 'SIGKILL')
  await until(() => first.reasons.length > 0)
  await later(100)
  expect([first.reasons, second.reasons]).toEqual([['its process has ended'], []])
  process.kill(stays.pid, 'SIGKILL')
  await until(() => second.reasons.length > 0)
  // it looks again after it had nobody left to look at
  const third = await sleeper('never asks')
  const last = watched()
  nearby.watch(last, { ...whereabouts(), pid: third.pid })
  process.kill(third.pid, 'SIGKILL')
  await until(() => last.reasons.length > 0)
})

test('a process that cannot be seen from here is not looked at', async () => {
  const nearby = new Nearby()
  const { pid, machine } = whereabouts()
  const { child, pid: gone } = await sleeper('here')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const strangers: readonly object[] = [
    {},
    { pid: gone },
    { pid: gone, machine: 'another' },
    { pid: gone, machine },
    { pid: `${pid}`, machine },
  ]
  const all = strangers.map((told) => {
    const one = watched()
    nearby.watch(one, told)
    return one
  })
  await later(100)
  expect(all.flatMap(({ reasons }) => reasons)).toEqual([])
})
