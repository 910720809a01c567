import { expect, test } from 'vitest'
import { allOf, inOrder, type OrderedTasks } from './scheduler.ts'

interface Log {
  readonly started: number[]
  readonly dropped: number[]
  running: number
  most: number
  givenUp: number
}

/** Tasks 0 to count - 1, each of which gives its number; `fails` says with what one fails. */
function tasksOf(
  count: number,
  window: number,
  { fails, ...options }: Partial<OrderedTasks<number>> & { readonly fails?: (index: number, log: Log) => Error | undefined } = {},
): { readonly tasks: OrderedTasks<number>; readonly log: Log } {
  const log: Log = { started: [], dropped: [], running: 0, most: 0, givenUp: 0 }
  let next = 0
  const tasks: OrderedTasks<number> = {
    next: () => {
      if (next === count) return undefined
      const index = next++
      return async () => {
        log.started.push(index)
        log.running++
        log.most = Math.max(log.most, log.running)
        try {
          const error = fails?.(index, log)
          for (let turn = 0; turn < 30 - (index % 3); turn++) await undefined
          if (error !== undefined) throw error
          return index
        } finally {
          log.running--
        }
      }
    },
    window,
    giveUp: () => log.givenUp++,
    drop: (result) => log.dropped.push(result),
    ...options,
  }
  return { tasks, log }
}

async function taken(tasks: OrderedTasks<number>, until = Number.POSITIVE_INFINITY): Promise<(number | string)[]> {
  const out: (number | string)[] = []
  try {
    for await (const result of inOrder(tasks)) {
      out.push(result)
      if (result === until) break
    }
  } catch (error) {
    out.push((error as Error).message)
  }
  return out
}

test('results come in the order of the tasks, of which no more than the window are started ahead', async () => {
  const { tasks, log } = tasksOf(7, 3)
  expect(await taken(tasks)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(log).toMatchObject({ most: 3, dropped: [], givenUp: 0 })
})

test('nothing is started while a result is being used', async () => {
  const { tasks, log } = tasksOf(9, 2)
  for await (const result of inOrder(tasks)) {
    const before = log.started.length
    await new Promise((resolve) => setImmediate(resolve))
    expect(log.started).toHaveLength(before)
    expect(before).toBeLessThanOrEqual(result + 2)
  }
})

test('where perhaps only the first results are wanted, one task begins, then two, then four', async () => {
  const { tasks, log } = tasksOf(20, 8, { firstWindow: 1 })
  expect(await taken(tasks, 0)).toEqual([0])
  expect(log.started).toEqual([0])
  const again = tasksOf(20, 8, { firstWindow: 1 })
  expect(await taken(again.tasks, 1)).toEqual([0, 1])
  expect(again.log.started).toEqual([0, 1, 2])
  expect(again.log).toMatchObject({ dropped: [2], givenUp: 1 })
})

test('a reader that stops gives up what it did not take', async () => {
  const { tasks, log } = tasksOf(20, 4)
  expect(await taken(tasks, 2)).toEqual([0, 1, 2])
  expect(log).toMatchObject({ started: [0, 1, 2, 3, 4, 5], dropped: [3, 4, 5], givenUp: 1 })
})

test('the first error in the order of the tasks is thrown, after the results before it', async () => {
  const { tasks, log } = tasksOf(20, 4, { fails: (index) => (index === 2 || index === 3 ? new Error(`task ${index}`) : undefined) })
  expect(await taken(tasks)).toEqual([0, 1, 'task 2'])
  expect(log).toMatchObject({ dropped: [4, 5], givenUp: 1 })
})

test('so is an error of what gives the tasks, in its turn', async () => {
  let asked = 0
  const { tasks } = tasksOf(20, 4)
  const next = (): ReturnType<typeof tasks.next> => {
    if (asked++ === 2) throw new Error('no more tasks')
    return tasks.next()
  }
  expect(await taken({ ...tasks, next })).toEqual([0, 1, 'no more tasks'])
})

test('a task that may go alone is run again once the others have made way, which run after it', async () => {
  const { tasks, log } = tasksOf(6, 4, {
    fails: (index, { running }) => (index === 1 && running > 1 ? new Error('short of memory') : undefined),
    mayGoAlone: (error) => (error as Error).message === 'short of memory',
  })
  expect(await taken(tasks)).toEqual([0, 1, 2, 3, 4, 5])
  expect(log.started).toEqual([0, 1, 2, 3, 4, 1, 2, 3, 4, 5])
  expect(log.dropped).toEqual([2, 3, 4])
})

test('one that fails alone as well has failed', async () => {
  const { tasks, log } = tasksOf(6, 4, {
    fails: (index) => (index === 1 ? new Error('short of memory') : undefined),
    mayGoAlone: () => true,
  })
  expect(await taken(tasks)).toEqual([0, 'short of memory'])
  expect(log.started).toEqual([0, 1, 2, 3, 4, 1])
})

test('all results, or the first failure in order once nothing runs any more', async () => {
  const done: string[] = []
  const after = async (turns: number, name: string, error?: Error): Promise<string> => {
    for (let turn = 0; turn < turns; turn++) await undefined
    done.push(name)
    if (error !== undefined) throw error
    return name
  }
  expect(await allOf([after(3, 'a'), after(1, 'b')])).toEqual(['a', 'b'])
  done.length = 0
  await expect(allOf([after(5, 'slow'), after(9, 'failing', new Error('first')), after(1, 'other', new Error('second'))])).rejects.toThrow(
    'first',
  )
  expect(done).toEqual(['other', 'slow', 'failing'])
  done.length = 0
  await expect(allOf([after(1, 'failing', new Error('early')), after(9, 'still writing')])).rejects.toThrow('early')
  expect(done).toEqual(['failing', 'still writing'])
})
