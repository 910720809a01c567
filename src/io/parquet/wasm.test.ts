import { expect, test } from 'vitest'
import { loadParquet } from './parquetLibrary.ts'
import { withParquetDecoder, withParquetWasm } from './wasm.ts'

test('an instance that others are called instead of is let go of, and what is called now and then is kept', async () => {
  await loadParquet()
  const encoder = (): object => withParquetWasm((wasm) => wasm)
  const decoder = (): object => withParquetDecoder(2 ** 27, (wasm) => wasm)
  const decode = (times: number): object[] => Array.from({ length: times }, decoder)
  const first = encoder()
  const [decoding] = decode(64)
  expect(encoder()).toBe(first)
  decode(65)
  expect(encoder()).not.toBe(first)
  expect(decoder()).toBe(decoding)
})
