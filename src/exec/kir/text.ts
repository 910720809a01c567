/**
 * Kernels in the text form of WebAssembly, for people: instructions folded into expressions, one a line where it fits.
 *
 *     (f64.store align=1
 *       (i32.add (local.get $y) (i32.shl (local.get $key0) (i32.const 3)))
 *       (f64.mul (local.get $rate) (f64.const 0.5)))
 *
 * An assembler makes the same code of it again, byte for byte.
 */
import type { Plain, ValueType } from './instructions.ts'
import { EXPORTED, heldType, type Import, type KernelModule, MODULE, MOST_PAGES } from './kernelModule.ts'
import { type Label, type Node, nameOf, treesOf } from './tree.ts'

/** Names for a kernel's locals, parameters included, by index; those that are missing are printed as numbers. */
export type LocalNames = ReadonlyMap<number, string>

const WIDTH = 100

/** The text of a kernel. Locals without a name are called by their number. */
export function kernelText(kernel: KernelModule, locals: LocalNames = new Map()): string {
  const { imports, parameters, addresses = 'i32' } = kernel
  const names = new Names(imports, locals)
  const declared = parameters.map((type, i) => declaration('param', names.declared(i), heldType(type)))
  const variables = kernel.locals.map((type, i) => declaration('local', names.declared(parameters.length + i), type))
  const lines = [
    '(module',
    `  (import "${MODULE}" "memory" (memory ${addresses === 'i64' ? 'i64 ' : ''}1 ${MOST_PAGES[addresses]} shared))`,
    ...imports.map((entry) => `  ${importText(entry)}`),
    `  (func (export "${EXPORTED}")`,
    ...wrapped([...declared, ...variables]).map((line) => `    ${line}`),
    ...treesOf(kernel)
      .flatMap((node) => nodeLines(node, names))
      .map((line) => `    ${line}`),
  ]
  return `${lines.join('\n')}))`
}

/** The identifiers of the text form, with their `$`: `$k`, or the index of what has no name. */
class Names {
  readonly #globals: readonly string[]
  readonly #functions: readonly string[]
  readonly #locals = new Map<number, string>()

  constructor(imports: readonly Import[], locals: LocalNames) {
    this.#globals = imports.flatMap((entry) => (entry.kind === 'global' ? [identifier(entry.name)] : []))
    this.#functions = imports.flatMap((entry) => (entry.kind === 'function' ? [identifier(entry.name)] : []))
    const taken = new Set<string>()
    for (const [number, name] of locals) {
      const plain = identifier(name)
      const own = taken.has(plain) ? `${plain}.${number}` : plain
      taken.add(own)
      this.#locals.set(number, own)
    }
  }

  /** Returns the identifier in front of the type of a parameter or local; undefined where it has no name. */
  declared(local: number): string | undefined {
    return this.#locals.get(local)
  }

  local(index: number): string {
    return this.#locals.get(index) ?? String(index)
  }

  global(index: number): string {
    return this.#globals[index] ?? String(index)
  }

  function(index: number): string {
    return this.#functions[index] ?? String(index)
  }
}

/** Makes a name valid in the text form: other characters become `_` and their code point in hexadecimal. */
function identifier(name: string): string {
  return `$${[...name].map((c) => (/[A-Za-z0-9!#$%&'*+\-./:<=>?@\\^_`|~]/.test(c) ? c : `_${c.codePointAt(0)?.toString(16)}`)).join('')}`
}

function importText(entry: Import): string {
  const from = `(import "${MODULE}" ${JSON.stringify(entry.name)}`
  const name = identifier(entry.name)
  if (entry.kind === 'global') return `${from} (global ${name} ${heldType(entry.type)}))`
  const { parameters, results } = entry
  const types = [
    ...(parameters.length === 0 ? [] : [`(param ${parameters.join(' ')})`]),
    ...(results.length === 0 ? [] : [`(result ${results.join(' ')})`]),
  ]
  return `${from} (func ${[name, ...types].join(' ')}))`
}

function declaration(kind: 'param' | 'local', name: string | undefined, type: ValueType): string {
  return `(${kind} ${name === undefined ? '' : `${name} `}${type})`
}

/** Joins parts into lines, as many on each as fit. */
function wrapped(parts: readonly string[]): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + part.length < WIDTH) lines[lines.length - 1] = `${last} ${part}`
    else lines.push(part)
  }
  return lines
}

/** Returns the lines of an instruction and its operands. */
function nodeLines(node: Node, names: Names): readonly string[] {
  const head = `(${headOf(node, names)}`
  const below = node.operands.map((operand) => nodeLines(operand, names))
  const parts = [...below, ...bodiesOf(node, names)]
  const isShort = parts.length === below.length && parts.every((lines) => lines.length === 1)
  const short = [head, ...parts.flat()].join(' ')
  if (isShort && short.length < WIDTH) return [`${short})`]
  const lines = [head, ...parts.flat().map((line) => `  ${line}`)]
  return [...lines.slice(0, -1), `${lines.at(-1)})`]
}

function headOf(node: Node, names: Names): string {
  switch (node.kind) {
    case 'plain':
      return [nameOf(node), ...immediatesOf(node)].join(' ')
    case 'const':
      return `${nameOf(node)} ${node.type === 'f64' ? floatText(Number(node.value)) : node.value}`
    case 'vector':
      return `v128.const i32x4 ${new Int32Array(Uint8Array.from(node.bytes).buffer).join(' ')}`
    case 'shuffle':
      return `${nameOf(node)} ${node.bytes.join(' ')}`
    case 'local':
      return `${node.name} ${names.local(node.index)}`
    case 'global':
      return `${nameOf(node)} ${names.global(node.index)}`
    case 'call':
      return `call ${names.function(node.index)}`
    case 'branch':
      return `${node.name} ${labelText(node.label)}`
    case 'block':
    case 'loop':
    case 'if': {
      const label = node.label.used ? ` ${labelText(node.label)}` : ''
      return `${node.kind}${label}${node.result === undefined ? '' : ` (result ${node.result})`}`
    }
  }
}

/** Returns offset and alignment, each only where it differs from the default, and the lane. */
function immediatesOf({ operation: { immediate, bytes }, offset, alignment, lane }: Plain): string[] {
  const memory = immediate.startsWith('memory')
    ? [...(offset === 0 ? [] : [`offset=${offset}`]), ...(2 ** alignment === bytes ? [] : [`align=${2 ** alignment}`])]
    : []
  return [...memory, ...(immediate.endsWith('lane') ? [String(lane)] : [])]
}

/** Returns decimal digits that parse back to the same bits. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  return `${sign}${Math.abs(value) === Number.POSITIVE_INFINITY ? 'inf' : Math.abs(value)}`
}

function labelText({ number }: Label): string {
  return `$b${number}`
}

/** Returns the lines inside a block, one list for each body. */
function bodiesOf(node: Node, names: Names): readonly (readonly string[])[] {
  const linesOf = (nodes: readonly Node[]): string[] => nodes.flatMap((one) => nodeLines(one, names))
  switch (node.kind) {
    case 'block':
    case 'loop':
      return [linesOf(node.body)]
    case 'if':
      return [arm('then', linesOf(node.body)), ...(node.otherwise === undefined ? [] : [arm('else', linesOf(node.otherwise))])]
    default:
      return []
  }
}

function arm(name: 'then' | 'else', lines: readonly string[]): readonly string[] {
  const [only] = lines
  if (lines.length < 2) return [only === undefined ? `(${name})` : `(${name} ${only})`]
  return [`(${name}`, ...lines.slice(0, -1).map((line) => `  ${line}`), `  ${lines.at(-1)})`]
}
