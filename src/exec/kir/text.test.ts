import { expect, test } from 'vitest'
import { I, OP, SIMD } from './instructions.ts'
import type { KernelModule } from './kernelModule.ts'
import { lanesConst } from './simd.ts'
import { kernelText } from './text.ts'

test('instructions are folded, blocks named where something leaves them, locals by what is known of them', () => {
  const body = [
    ...[...I.block(), ...I.loop, ...I.localGet(0), ...I.i32Const(-7), OP.i32Eq, ...I.brIf(1)],
    ...[...I.localGet(1), OP.f64Sqrt, ...I.f64Const(0.1), OP.f64Lt, ...I.if('f64'), ...I.f64Const(Number.NaN), OP.else],
    ...[...I.localGet(1), ...I.call(0), OP.end, ...I.localSet(2)],
    ...[...I.localGet(0), ...lanesConst([1, -1, 0, 2]), ...I.memory(SIMD.store, 16), ...I.br(0), OP.end, OP.end],
  ]
  const imports = [{ kind: 'function', name: 'Math.exp/1', parameters: ['f64'], results: ['f64'] }] as const
  const kernel: KernelModule = { imports, parameters: ['i32', 'f64'], locals: ['f64'], body }
  const names = new Map([
    [0, 'at'],
    [1, 'größe'],
  ])
  expect(kernelText(kernel, names)).toMatchInlineSnapshot(`
    "(module
      (import "k" "memory" (memory 1 65536 shared))
      (import "k" "Math.exp/1" (func $Math.exp/1 (param f64) (result f64)))
      (func (export "run")
        (param $at i32) (param $gr_f6_dfe f64) (local f64)
        (block $b0
          (loop $b1
            (br_if $b0 (i32.eq (local.get $at) (i32.const -7)))
            (local.set 2
              (if (result f64)
                (f64.lt (f64.sqrt (local.get $gr_f6_dfe)) (f64.const 0.1))
                (then (f64.const nan))
                (else (call $Math.exp/1 (local.get $gr_f6_dfe)))))
            (v128.store offset=16 align=1 (local.get $at) (v128.const i32x4 1 -1 0 2))
            (br $b1)))))"
  `)
})

test('an instruction takes what others left before it', () => {
  const body = [...I.i32Const(1), ...I.i32Const(2), ...I.i32Const(5), ...I.localSet(0), OP.i32Add, OP.drop]
  const text = kernelText({ imports: [], parameters: ['i32'], locals: [], body })
  expect(text.split('\n').slice(4).join('\n')).toMatchInlineSnapshot(`
    "    (i32.const 1)
        (i32.const 2)
        (local.set 0 (i32.const 5))
        (drop (i32.add))))"
  `)
})

test('two locals of one name are told apart', () => {
  const names = new Map([
    [0, 'k'],
    [1, 'k'],
  ])
  const body = [...I.localGet(1), ...I.localSet(0)]
  expect(kernelText({ imports: [], parameters: ['i32', 'i32'], locals: [], body }, names)).toContain('(local.set $k (local.get $k.1))')
})
