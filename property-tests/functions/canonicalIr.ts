/**
 * An IR up to what tool chains may change: local names, labels, names of captures, and places in the source.
 *
 * Locals, labels, parameters and tables are numbered in the order in which they occur. Minifiers write captured
 * constants as literals, put literals on the other side, and `==` for `===` where both sides are numbers; in the form
 * `minified` these are not told apart.
 */
import type { FunctionIr } from '../../src/core/ir/functionIr.ts'

export interface CanonicalForm {
  readonly minified: boolean
}

export function canonicalIr(ir: FunctionIr, { minified }: CanonicalForm): unknown {
  const numbers = new Map<string, string>()
  const numbered = (kind: string, name: string): string => {
    const id = `${kind} ${name}`
    const known = numbers.get(id)
    if (known !== undefined) return known
    const made = `${kind}${[...numbers.keys()].filter((key) => key.startsWith(`${kind} `)).length}`
    numbers.set(id, made)
    return made
  }
  const fromEnv = new Set([...ir.parameters, ...ir.tables].filter((one) => one.origin === 'env').map((one) => one.name))
  const canonical = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(canonical)
    if (typeof value !== 'object' || value === null)
      return Object.is(value, -0) ? '-0' : typeof value === 'bigint' ? `${value}n` : value === undefined ? 'undefined' : value
    const node = value as Readonly<Record<string, unknown>>
    const captured =
      minified && node.kind === 'Parameter' ? ir.parameters.find((one) => one.name === node.name && one.origin === 'capture') : undefined
    if (captured !== undefined) return canonical({ kind: 'Literal', value: captured.value })
    if (minified && node.kind === 'Binary') return binary(node)
    const entries = Object.entries(node).filter(([name]) => name !== 'span')
    return Object.fromEntries(
      entries.map(([name, part]) => {
        if (typeof part === 'string') {
          if (name === 'local' || (name === 'name' && node.kind === 'Local')) return [name, numbered('local', part)]
          if (name === 'label') return [name, numbered('label', part)]
          if (name === 'name' && node.kind === 'Parameter' && !fromEnv.has(part)) return [name, numbered('parameter', part)]
          if (name === 'table' && !fromEnv.has(part)) return [name, numbered('table', part)]
        }
        return [name, canonical(part)]
      }),
    )
  }
  const binary = (node: Readonly<Record<string, unknown>>): unknown => {
    const operator = String(node.operator).replace(/^([=!]=)$/, '$1=')
    const [left, right] = [canonical(node.left), canonical(node.right)]
    const isLiteral = (side: unknown): boolean => typeof side === 'object' && side !== null && 'kind' in side && side.kind === 'Literal'
    const swapped = /^([*&|^]|[=!]==)$/.test(operator) && isLiteral(left) && !isLiteral(right)
    return { kind: 'Binary', operator, left: swapped ? right : left, right: swapped ? left : right }
  }
  const body = canonical(ir.body)
  const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1)
  const parameters = ir.parameters
    .filter((one) => !(minified && one.origin === 'capture'))
    .map((one) => ({ ...one, name: fromEnv.has(one.name) ? one.name : numbered('parameter', one.name), value: canonical(one.value) }))
    .sort(byName)
  const tables = ir.tables
    .map((one) => ({ ...one, name: fromEnv.has(one.name) ? one.name : numbered('table', one.name), value: Array.from(one.value) }))
    .sort(byName)
  return { keyRank: ir.keyRank, body, parameters, tables, uses: [...ir.uses].sort(byName) }
}
