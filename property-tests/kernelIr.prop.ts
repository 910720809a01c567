/**
 * The kernel IR: its verifier takes what engines take and nothing else, code that was made a tree is the same code, and a
 * kernel does after each pass what it did before.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codeId, flat } from '../src/exec/kir/instructions.ts'
import type { KernelModule } from '../src/exec/kir/kernelModule.ts'
import { type Pass, withPasses } from '../src/exec/kir/pass.ts'
import { LOOP_INVARIANTS } from '../src/exec/kir/passes/loopInvariants.ts'
import { UNREAD_LOCALS } from '../src/exec/kir/passes/unreadLocals.ts'
import { kernelText } from '../src/exec/kir/text.ts'
import { codeOf, treesOf } from '../src/exec/kir/tree.ts'
import { verify } from '../src/exec/kir/verify.ts'
import { moduleBytes } from '../src/exec/wasm/wasmEncoder.ts'
import { anyInstruction, kernelCode, MEMORY_BYTES } from './arbitraries/kernelCode.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('kernelIr.prop.ts')

test('the verifier takes what engines take', () => {
  const counts = { right: 0, wrong: 0 }
  const edits = fc.array(fc.tuple(fc.nat(), fc.constantFrom('drop', 'put', 'insert'), anyInstruction), { maxLength: 2 })
  fc.assert(
    fc.property(kernelCode, edits, (kernel, changes) => {
      const body = [...flat(kernel.body)]
      for (const [place, how, other] of changes)
        body.splice(place % body.length, how === 'insert' ? 0 : 1, ...(how === 'drop' ? [] : [other]))
      const changed = { ...kernel, body }
      const message = failureOf(changed)
      expect(message === undefined, message).toBe(WebAssembly.validate(moduleBytes(changed)))
      counts[message === undefined ? 'right' : 'wrong']++
    }),
    RUN,
  )
  console.log(`verified: ${JSON.stringify(counts)}`)
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0.1 * RUN.numRuns)
})

test('trees are written as the code that they were made of', () => {
  fc.assert(
    fc.property(kernelCode, (kernel) => {
      expect(codeId(codeOf(treesOf(kernel)))).toBe(codeId(kernel.body))
    }),
    RUN,
  )
})

for (const [pass, share] of [
  [LOOP_INVARIANTS, 0.1],
  [UNREAD_LOCALS, 0.3],
] as const satisfies readonly (readonly [Pass, number])[]) {
  test(`after the pass ${pass.name} a kernel does what it did before`, () => {
    let changed = 0
    fc.assert(
      fc.property(kernelCode, fc.integer(), (kernel, number) => {
        const after = withPasses(kernel, [pass])
        if (codeId(after.body) !== codeId(kernel.body)) changed++
        if (resultOf(after, number) !== resultOf(kernel, number)) throw new Error(`${kernelText(kernel)}\n\n${kernelText(after)}`)
      }),
      RUN,
    )
    expect(changed).toBeGreaterThan(share * RUN.numRuns)
  })
}

test('a kernel is told where it is wrong, and after which pass', () => {
  const kernel: KernelModule = { imports: [], parameters: ['i32'], locals: [], body: [{ kind: 'local', name: 'local.set', index: 0 }] }
  expect(failureOf(kernel)).toBe('A kernel is wrong in a law: instruction 0, local.set, takes i32 where nothing was left.')
  const broken: Pass = { name: 'of a law', run: () => kernel }
  expect(() => withPasses({ ...kernel, body: [] }, [broken])).toThrow(
    'A kernel is wrong after the pass of a law: instruction 0, local.set, takes i32 where nothing was left.',
  )
})

function failureOf(kernel: KernelModule): string | undefined {
  try {
    verify(kernel, 'in a law')
    return undefined
  } catch (error) {
    return (error as Error).message.split('\n')[0]
  }
}

/** What memory holds when a kernel has run. */
function resultOf(kernel: KernelModule, number: number): string {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true })
  const bytes = new Uint8Array(memory.buffer, 0, MEMORY_BYTES)
  for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 37) & 255
  const half = (x: number): number => x / 2
  const { run } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes(kernel)), { k: { memory, half } }).exports as {
    run: (number: number) => void
  }
  run(number)
  return Buffer.from(bytes.subarray(0, 4096)).toString('latin1')
}
