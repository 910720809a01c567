/**
 * The verifier of the kernel IR: whether an engine takes a kernel, by the validation algorithm of the WebAssembly
 * specification (its appendix), over the few types and instructions that kernels have. An engine reports a byte offset, the verifier
 * the instruction, and the pass that wrote it.
 */
import { Bug } from '../../core/errors.ts'
import { flat, type Instruction, type ValueType } from './instructions.ts'
import { globalsOf, heldType, type KernelModule } from './kernelModule.ts'
import { nameOf } from './tree.ts'

/** The type of a value on the stack; `any` in code that is never reached. */
type Given = ValueType | 'any'

/** A control frame: a block that is open. */
interface Frame {
  readonly kind: 'body' | 'block' | 'loop' | 'if' | 'else'
  readonly result: ValueType | undefined
  /** The height of the stack where the block begins: values below belong to the blocks around it. */
  readonly height: number
  /** Whether the code being checked is never reached: its operands may then have any type. */
  isUnreachable: boolean
}

/** Throws a `Bug` that names the instruction that is wrong, and `when` it was found. */
export function verify(kernel: KernelModule, when: string): void {
  const verification = new Verification(kernel)
  for (const [at, one] of flat(kernel.body).entries()) {
    const wrong = verification.step(one)
    if (wrong !== undefined) throw new Bug(`A kernel is wrong ${when}: instruction ${at}, ${nameOf(one)}, ${wrong}.`)
  }
  const wrong = verification.end()
  if (wrong !== undefined) throw new Bug(`A kernel is wrong ${when}: it ${wrong}.`)
}

class Verification {
  readonly #kernel: KernelModule
  readonly #locals: readonly ValueType[]
  readonly #globals: readonly ValueType[]
  readonly #functions: readonly { readonly parameters: readonly ValueType[]; readonly results: readonly ValueType[] }[]
  readonly #stack: Given[] = []
  readonly #frames: Frame[] = [{ kind: 'body', result: undefined, height: 0, isUnreachable: false }]

  constructor(kernel: KernelModule) {
    this.#kernel = kernel
    this.#locals = [...kernel.parameters.map(heldType), ...kernel.locals]
    this.#globals = globalsOf(kernel).map(({ type }) => heldType(type))
    this.#functions = kernel.imports.flatMap((entry) => (entry.kind === 'function' ? [entry] : []))
  }

  /** Checks the next instruction; returns what is wrong with it, or undefined. */
  step(one: Instruction): string | undefined {
    switch (one.kind) {
      case 'plain':
        return this.#operation(one)
      case 'const':
        return this.#give(one.type)
      case 'vector':
        return one.bytes.length === 16 ? this.#give('v128') : 'has not 16 bytes'
      case 'shuffle':
        if (one.bytes.length !== 16 || one.bytes.some((byte) => byte < 0 || byte >= 32)) return 'has not 16 numbers of bytes below 32'
        return this.#takeAll(['v128', 'v128']) ?? this.#give('v128')
      case 'local': {
        const type = this.#locals[one.index]
        if (type === undefined) return `is of local ${one.index}, which there is not`
        if (one.name === 'local.get') return this.#give(type)
        return this.#take(type) ?? (one.name === 'local.tee' ? this.#give(type) : undefined)
      }
      case 'global': {
        const type = this.#globals[one.index]
        return type === undefined ? `is of number ${one.index}, which is not imported` : this.#give(type)
      }
      case 'call': {
        const called = this.#functions[one.index]
        if (called === undefined) return `calls function ${one.index}, which is not imported`
        return this.#takeAll(called.parameters) ?? called.results.map((type) => this.#give(type))[0]
      }
      case 'branch':
        return this.#branch(one)
      case 'block':
      case 'loop':
        return this.#open(one.kind, one.result)
      case 'if':
        return this.#take('i32') ?? this.#open('if', one.result)
      case 'else':
      case 'end':
        return this.#close(one.kind)
    }
  }

  /** Checks the end of the body; returns what is wrong there, or undefined. */
  end(): string | undefined {
    if (this.#frames.length > 1) return 'leaves a block open'
    return this.#leavesOnly(this.#frame)
  }

  get #frame(): Frame {
    const frame = this.#frames.at(-1)
    if (frame === undefined) throw new Bug('A verification goes on behind the end of the kernel.')
    return frame
  }

  #operation({ operation, alignment, lane }: Extract<Instruction, { kind: 'plain' }>): string | undefined {
    const { name, takes, gives, immediate, bytes } = operation
    const { addresses = 'i32' } = this.#kernel
    if (immediate.startsWith('memory') && 2 ** alignment > bytes) return `claims to be aligned to ${2 ** alignment} bytes and has ${bytes}`
    if (immediate.endsWith('lane') && (!Number.isInteger(lane) || lane < 0 || lane >= lanesOf(operation))) return `has no lane ${lane}`
    if (name === 'unreachable' || name === 'return') return this.#leave()
    if (gives !== 'same')
      return (
        this.#takeAll(takes.map((type, i) => (i === 0 && immediate.startsWith('memory') ? addresses : (type ?? 'any')))) ??
        this.#give(gives)
      )
    // select: two operands of one type, whichever it is
    const wrong = this.#take('i32')
    if (wrong !== undefined) return wrong
    const second = this.#taken() ?? 'any'
    return this.#take(second) ?? this.#give(second)
  }

  #branch({ name, depth }: Extract<Instruction, { kind: 'branch' }>): string | undefined {
    const frame = this.#frames[this.#frames.length - 1 - depth]
    if (frame === undefined) return `leaves ${depth + 1} blocks where ${this.#frames.length} are open`
    const result = frame.kind === 'loop' ? undefined : frame.result
    const wrong = name === 'br_if' ? this.#take('i32') : undefined
    if (wrong !== undefined) return wrong
    if (result !== undefined) {
      const missing = this.#take(result)
      if (missing !== undefined) return missing
    }
    return name === 'br' ? this.#leave() : this.#give(result)
  }

  #open(kind: Frame['kind'], result: ValueType | undefined): undefined {
    this.#frames.push({ kind, result, height: this.#stack.length, isUnreachable: false })
  }

  #close(by: 'else' | 'end'): string | undefined {
    const frame = this.#frame
    if (frame.kind === 'body') return 'closes a block that nothing opened'
    if (by === 'else' && frame.kind !== 'if') return `stands in a ${frame.kind}`
    if (by === 'end' && frame.kind === 'if' && frame.result !== undefined)
      return `gives ${frame.result} where the condition holds, and else nothing`
    const wrong = this.#leavesOnly(frame)
    if (wrong !== undefined) return wrong
    this.#frames.pop()
    return by === 'else' ? this.#open('else', frame.result) : this.#give(frame.result)
  }

  /** Checks that the block leaves its result on the stack, and nothing else. */
  #leavesOnly({ result, height }: Frame): string | undefined {
    const wrong = result === undefined ? undefined : this.#take(result)
    return wrong ?? (this.#stack.length === height ? undefined : `leaves ${this.#stack.length - height} values that nothing takes`)
  }

  #leave(): undefined {
    const frame = this.#frame
    this.#stack.length = frame.height
    frame.isUnreachable = true
  }

  #give(type: Given | undefined): undefined {
    if (type !== undefined) this.#stack.push(type)
  }

  /** Pops a value and returns its type; undefined where the block has none left. */
  #taken(): Given | undefined {
    const { height, isUnreachable } = this.#frame
    if (this.#stack.length > height) return this.#stack.pop()
    return isUnreachable ? 'any' : undefined
  }

  #take(type: Given): string | undefined {
    const given = this.#taken()
    if (given === undefined) return `takes ${type === 'any' ? 'a value' : type} where nothing was left`
    return given === 'any' || type === 'any' || given === type ? undefined : `takes ${type} where ${given} was left`
  }

  #takeAll(types: readonly Given[]): string | undefined {
    for (const type of [...types].reverse()) {
      const wrong = this.#take(type)
      if (wrong !== undefined) return wrong
    }
    return undefined
  }
}

/** Returns the number of lanes among which an operation's lane is chosen. */
function lanesOf({ name, bytes }: { readonly name: string; readonly bytes: number }): number {
  const [, lanes] = /^[if]\d+x(\d+)/.exec(name) ?? []
  return lanes === undefined ? 16 / bytes : Number(lanes)
}
