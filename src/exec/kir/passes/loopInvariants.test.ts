import { expect, test } from 'vitest'
import { type Code, I, OP } from '../instructions.ts'
import type { KernelModule } from '../kernelModule.ts'
import { withPasses } from '../pass.ts'
import { kernelText } from '../text.ts'
import { LOOP_INVARIANTS } from './loopInvariants.ts'

const [COUNT, TWICE, SUM] = [0, 1, 2]
const twice = [I.localGet(COUNT), I.i32Const(1), OP.i32Shl, I.localSet(TWICE)]
const added = [I.localGet(SUM), I.localGet(TWICE), OP.i32Add, I.localSet(SUM)]
const again = [I.localGet(SUM), I.i32Const(9), OP.i32LtU, I.brIf(0)]
/** Leaves the block around it where the sum is not 0. */
const left = [I.localGet(SUM), I.brIf(0)]

/** The lines of a function of a number, with two locals, behind their declaration. */
function passed(body: Code): string {
  const kernel: KernelModule = { imports: [], parameters: ['i32'], locals: ['i32', 'i32'], body }
  return kernelText(
    withPasses(kernel, [LOOP_INVARIANTS]),
    new Map([
      [COUNT, 'count'],
      [TWICE, 'twice'],
      [SUM, 'sum'],
    ]),
  )
    .split('\n')
    .slice(4)
    .join('\n')
}

test('what is the same in all iterations is computed before the loop, also out of a block in it', () => {
  expect(passed([I.loop, I.block(), left, twice, added, OP.end, again, OP.end])).toMatchInlineSnapshot(`
    "    (local.set $twice (i32.shl (local.get $count) (i32.const 1)))
        (loop $b0
          (block $b1
            (br_if $b1 (local.get $sum))
            (local.set $sum (i32.add (local.get $sum) (local.get $twice))))
          (br_if $b0 (i32.lt_u (local.get $sum) (i32.const 9))))))"
  `)
})

test('what is read behind the block that sets it stays there: the block may have been left before', () => {
  expect(passed([I.loop, I.block(), left, twice, OP.end, added, again, OP.end])).toMatchInlineSnapshot(`
    "    (loop $b0
          (block $b1
            (br_if $b1 (local.get $sum))
            (local.set $twice (i32.shl (local.get $count) (i32.const 1))))
          (local.set $sum (i32.add (local.get $sum) (local.get $twice)))
          (br_if $b0 (i32.lt_u (local.get $sum) (i32.const 9))))))"
  `)
})
