import { expect, test } from 'vitest'
import { Coming } from './coming.ts'

function watched(waitMs: number) {
  const told: string[] = []
  const state = { isIdle: false }
  const coming = new Coming<string>({ isIdle: () => state.isIdle, takeIn: (other) => told.push(other) }, waitMs)
  return { told, state, coming }
}

async function turns(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20))
}

test('a process is taken in with the last work that prepares it, also one that fails', async () => {
  const { told, coming } = watched(1)
  const ends: (() => void)[] = []
  coming.add('a')
  coming.prepare('a', async () => await new Promise((resolve) => ends.push(resolve)))
  coming.prepare('a', async () => await new Promise((_, reject) => ends.push(() => reject(new Error('It does not go.')))))
  await turns()
  expect([told, coming.all]).toEqual([[], ['a']])
  ends[0]?.()
  await turns()
  expect(told).toEqual([])
  ends[1]?.()
  await turns()
  expect([told, coming.all]).toEqual([['a'], []])
})

test('where no pass is under way nothing prepares it, and it is taken in; one that is lost is not', async () => {
  const { told, state, coming } = watched(1)
  coming.add('a')
  coming.add('b')
  await turns()
  expect(told).toEqual([])
  expect([coming.delete('b'), coming.delete('c')]).toEqual([true, false])
  state.isIdle = true
  await turns()
  expect(told).toEqual(['a'])
  const atOnce = watched(0)
  atOnce.coming.add('a')
  expect(atOnce.told).toEqual(['a'])
})
