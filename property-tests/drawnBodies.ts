/** Bodies of loops that laws draw as texts, over an array of doubles: as functions, as what a loop gives of them, and as plain JavaScript does. */
import { expect } from 'vitest'
import type { LoopPlan, Session } from '../src/index.ts'

export const ROWS = 20
const DOUBLES = [0, -0, 0.5, Number.NaN, -1, 2.25]
/** What bodies read as `x`. */
export const doubles: Float64Array = Float64Array.from({ length: ROWS }, (_, i) => DOUBLES[i] ?? ((i * 37) % 19) / 4 - 2)

export type LoopBody = (key: readonly [number], env: Record<string, unknown>) => void

/** A text, and which of what it may ask it does. */
export interface DrawnBody {
  readonly text: string
  readonly used: ReadonlySet<string>
}

/** The function of a text, which captures what it names of `held`. */
export function bodyOf(text: string, held: Readonly<Record<string, unknown>>): LoopBody {
  return new Function(...Object.keys(held), `return ${text}`)(...Object.values(held)) as LoopBody
}

/** What the body sets `out` to, run as it stands. `get` reads `x`. */
export function plain(body: LoopBody, get: (i: number) => number | undefined = (i) => doubles[i]): Float64Array {
  const written = new Float64Array(ROWS)
  const env = { x: { get }, out: { set: (i: number, value: number) => (written[i] = value) } }
  for (let i = 0; i < ROWS; i++) body([i], env)
  return written
}

interface Looped {
  readonly outcome: unknown
  readonly plan: LoopPlan
}

/** What a loop sets `out` to, or the message of its error, and how it ran. */
export async function looped(session: Session, body: LoopBody, values: Float64Array = doubles): Promise<Looped> {
  const [x, out] = [session.fromTypedArray(values, [ROWS]), session.zeros([ROWS])]
  const loop = session.loop(session.range(ROWS), { x, out }, body as never)
  const outcome = await loop.run().then(
    () => out.toTypedArray(),
    (error: Error) => error.message,
  )
  return { outcome, plan: loop.plan }
}

/** WebAssembly whose iterations run in any order. */
export function expectCompiled({ kernel, schedule }: LoopPlan, text: string): void {
  expect(`${kernel?.target} ${schedule.kind}`, `${text}\n${JSON.stringify(kernel?.because)}`).toMatch(/^wasm.* independent$/)
}
