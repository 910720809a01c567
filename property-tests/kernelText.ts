/** A body's IR as text, for counterexamples. */
import type { FunctionIr } from '../src/core/functionIr.ts'

export function irText(ir: FunctionIr): string {
  const plain = (_: string, value: unknown): unknown =>
    typeof value === 'bigint'
      ? `${value}n`
      : typeof value === 'number' && !(Number.isFinite(value) && !Object.is(value, -0))
        ? Object.is(value, -0)
          ? '-0'
          : String(value)
        : value === undefined
          ? 'undefined'
          : value
  return JSON.stringify({ body: ir.body, parameters: ir.parameters }, (name, value) => (name === 'span' ? undefined : plain(name, value)))
}
