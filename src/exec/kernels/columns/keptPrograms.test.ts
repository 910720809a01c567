import { expect, test } from 'vitest'
import type { ElementType } from '../../../core/data/schema.ts'
import { lowerFunction } from '../../../planner/function/userFunction.ts'
import type { Step } from '../../../planner/physical/physicalPlan.ts'
import type { KernelColumn } from './columnTypes.ts'
import { keptByProgram } from './keptPrograms.ts'

const ELEMENT: ElementType = { kind: 'row', fields: [{ name: 'a', type: { kind: 'f64' }, nullable: false }] }
const COLUMNS: readonly KernelColumn[] = [{ type: { kind: 'f64' }, nullable: false }]

type Row = { readonly a: number }

function filter(f: (row: Row) => boolean): readonly Step[] {
  return [{ kind: 'FilterExec', f: lowerFunction(f, { kind: 'row', method: 'filter', inputs: [ELEMENT] }).fn }]
}

function counted(): { readonly make: ReturnType<typeof keptByProgram<readonly unknown[], object>>; readonly made: () => number } {
  let made = 0
  const make = keptByProgram<readonly unknown[], object>(() => ({ number: made++ }))
  return { make, made: () => made }
}

test('what a closure of the same place and the same captures needs is made once', () => {
  const above = (low: number) => filter((r) => r.a > low)
  const { make, made } = counted()
  const first = make(ELEMENT, COLUMNS, above(3), { sparse: true })
  expect(make(ELEMENT, COLUMNS, above(3), { sparse: true })).toBe(first)
  expect(make(ELEMENT, COLUMNS, above(4), { sparse: true })).not.toBe(first)
  expect(made()).toBe(2)
})

test('other columns, other options and other steps are other programs', () => {
  const steps = filter((r) => r.a > 1)
  const { make, made } = counted()
  make(ELEMENT, COLUMNS, steps, { sparse: true })
  make(ELEMENT, COLUMNS, steps, { sparse: false })
  make(ELEMENT, [{ type: { kind: 'f64' }, nullable: true }], steps, { sparse: true })
  make(ELEMENT, COLUMNS, [...steps, { kind: 'ProjectExec', columns: ['a'] }], { sparse: true })
  expect(made()).toBe(4)
})

test('programs that read captured lists are made anew', () => {
  const rates = [1, 2, 3]
  const steps = filter((r) => (rates[r.a] ?? 0) > 1)
  const { make, made } = counted()
  make(ELEMENT, COLUMNS, steps)
  make(ELEMENT, COLUMNS, steps)
  expect(made()).toBe(2)
})

test('those that were used longest ago are dropped', () => {
  const steps = filter((r) => r.a > 2)
  const { make, made } = counted()
  for (let i = 0; i < 200; i++) {
    make(ELEMENT, COLUMNS, steps, i)
    make(ELEMENT, COLUMNS, steps, 'often')
  }
  expect(made()).toBe(201)
  make(ELEMENT, COLUMNS, steps, 0)
  expect(made()).toBe(202)
})
