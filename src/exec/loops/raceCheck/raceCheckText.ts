/**
 * The messages of the race checker: two iterations, their places in the body, one element, and the cure.
 *
 *     The loop over range(8) has a race: two iterations touch one element, and the independent schedule does not order them.
 *       (3) writes w[7] at 2:3  w.set(idx.get(i), i)
 *       (5) reads w[7] at 3:9   w.get(7)
 */

import type { Key } from '../../../core/arrays/keys.ts'
import { LoopError } from '../../../core/errors.ts'
import type { Schedule } from '../../../core/loop/schedules.ts'
import { cutAxesOf, cutText } from '../../../core/loop/schedules.ts'
import { placeText, type Span } from '../../../core/span.ts'

export interface RaceAccess {
  /** The name by which the body touches the array. */
  readonly name: string
  readonly verb: 'reads' | 'writes' | 'adds to'
  readonly span: Span
  readonly iteration: Key
}

export interface Race {
  /** The loop's name, as `the loop over range(8)`. */
  readonly loop: string
  readonly schedule: Schedule
  readonly order: 'serial' | 'any'
  /** The two accesses, in the order of the serial run. */
  readonly accesses: readonly [RaceAccess, RaceAccess]
  readonly element: Key
  readonly promised: boolean
  /** Whether each worker has a copy of the array. */
  readonly isPrivate: boolean
}

export function raceError({ loop, schedule, order, accesses, element, promised, isPrivate }: Race): LoopError {
  const heads = accesses.map(({ iteration, verb, name, span }) => {
    return `  ${keyText(iteration)} ${verb} ${elementText(name, element)} at ${placeText(span)}`
  })
  const width = Math.max(...heads.map((head) => head.length))
  const lines = heads.map((head, i) => `${head.padEnd(width)}  ${accesses[i]?.span.text ?? ''}`)
  const [a, b] = accesses
  const alias = a.name === b.name ? [] : [`  ${a.name} and ${b.name} are one array.`]
  const together = order === 'any' ? 'may run them together' : `may run them together, or ${keyText(b.iteration)} first`
  const cure = promised
    ? 'The schedule rests on assume.distinct: leave that out, or keep iterations from sharing the element.'
    : 'The schedule is wrong, which is a fault in the library, not in your program. Please report it with the text above.'
  const how = isPrivate
    ? `each worker has a copy of ${b.name}, and may have run one of them only`
    : `its ${scheduleText(schedule)} ${together}`
  const message = [`${capital(loop)} has a race: ${how}.`, ...lines, ...alias, `The pass was not run; no array was changed. ${cure}`].join(
    '\n',
  )
  const refusals = accesses.map(({ verb, name, iteration, span }) => ({
    code: 'race',
    message: `${keyText(iteration)} ${verb} ${elementText(name, element)}`,
    cure,
    span,
  }))
  return new LoopError(message, refusals)
}

export interface BrokenPromise {
  readonly loop: string
  readonly array: string
  readonly value: unknown
  /** The iterations, and the elements they read. */
  readonly iterations: readonly [Key, Key]
  readonly elements: readonly [Key, Key]
  readonly span: Span
}

export function brokenPromiseError({ loop, array, value, iterations, elements, span }: BrokenPromise): LoopError {
  const value_ = typeof value === 'bigint' ? `${value}n` : typeof value === 'string' ? JSON.stringify(value) : String(value)
  const reads = iterations.map((iteration, i) => `  ${keyText(iteration)} reads ${elementText(array, elements[i] ?? [])} = ${value_}`)
  const cure = `Make the values of ${array} differ, or leave ${array} out of assume.distinct.`
  const message = [
    `${capital(loop)} promises that the values of ${array} differ between iterations (assume.distinct), and they do not.`,
    ...reads,
    `The pass was not run; no array was changed. ${cure}`,
  ].join('\n')
  return new LoopError(message, [{ code: 'broken-promise', message: `two iterations read ${value_} from ${array}`, cure, span }])
}

function scheduleText(schedule: Schedule): string {
  const { kind } = schedule
  if (kind === 'colored' || kind === 'serial' || kind === 'independent') return `${kind} schedule`
  if (kind === 'stepped') {
    const axes = Array.from({ length: schedule.outer }, (_, axis) => axis)
    return `${scheduleText(schedule.inner)} inside the steps of ${axes.length === 1 ? 'axis' : 'axes'} ${axes.join(', ')}`
  }
  const axes = cutAxesOf(schedule)
  const along = axes === undefined ? 'along' : `on ${axes.length === 1 ? 'axis' : 'axes'}`
  return `${kind} schedule ${along} ${cutText(schedule, String, (form) => `[${form.join(', ')}]`)}`
}

function keyText(key: Key): string {
  return `(${key.join(', ')})`
}

function elementText(name: string, key: Key): string {
  return `${name}[${key.join(', ')}]`
}

function capital(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}`
}
