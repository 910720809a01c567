/** NumPy files: those that NumPy wrote, byte for byte, and what is said of files that hold something else. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../../core/errors.ts'
import { Session } from '../../session/session.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-npy-'))
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})
const at = (name: string): string => join(folder, name)

function file(header: string, elements: ArrayLike<number> = [], version = [1, 0]): string {
  const path = at('a.npy')
  const length = Buffer.alloc(version[0] === 1 ? 2 : 4)
  length.writeUIntLE(header.length, 0, length.length)
  writeFileSync(
    path,
    Buffer.concat([
      Buffer.from('\x93NUMPY', 'latin1'),
      Buffer.from(version),
      length,
      Buffer.from(header, 'latin1'),
      Uint8Array.from(elements),
    ]),
  )
  return path
}

const said = (descr: string, shape: string, order = 'False'): string =>
  `{'descr': ${descr}, 'fortran_order': ${order}, 'shape': ${shape}, }\n`

async function refusal(ask: () => Promise<unknown>): Promise<unknown> {
  return await ask().then(
    () => 'nothing was refused',
    (error: unknown) => error,
  )
}

/** As numpy 2.4 saves np.arange(6).reshape(2, 3) and others. */
const HEAD = 'k05VTVBZ'
const SAVED: readonly (readonly [dtype: string, base64: string, values: ArrayLike<number>])[] = [
  [
    '<f8',
    'AQB2AHsnZGVzY3InOiAnPGY4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAAAAAAAAAPA/AAAAAAAAAEAAAAAAAAAIQAAAAAAAABBAAAAAAAAAFEA=',
    Float64Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '>f8',
    'AQB2AHsnZGVzY3InOiAnPmY4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAD/wAAAAAAAAQAAAAAAAAABACAAAAAAAAEAQAAAAAAAAQBQAAAAAAAA=',
    Float64Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '<f4',
    'AQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAACAPwAAAEAAAEBAAACAQAAAoEA=',
    Float32Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '>f4',
    'AQB2AHsnZGVzY3InOiAnPmY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAP4AAAEAAAABAQAAAQIAAAECgAAA=',
    Float32Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '<i8',
    'AQB2AHsnZGVzY3InOiAnPGk4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAAEAAAAAAAAAAgAAAAAAAAADAAAAAAAAAAQAAAAAAAAABQAAAAAAAAA=',
    Float64Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '>i8',
    'AQB2AHsnZGVzY3InOiAnPmk4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAwAAAAAAAAAEAAAAAAAAAAU=',
    Float64Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '<u8',
    'AQB2AHsnZGVzY3InOiAnPHU4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAAEAAAAAAAAAAgAAAAAAAAADAAAAAAAAAAQAAAAAAAAABQAAAAAAAAA=',
    Float64Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '<i4',
    'AQB2AHsnZGVzY3InOiAnPGk0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAQAAAAIAAAADAAAABAAAAAUAAAA=',
    Int32Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '>i4',
    'AQB2AHsnZGVzY3InOiAnPmk0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAQAAAAIAAAADAAAABAAAAAU=',
    Int32Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '<u4',
    'AQB2AHsnZGVzY3InOiAnPHU0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAQAAAAIAAAADAAAABAAAAAUAAAA=',
    Uint32Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '<i2',
    'AQB2AHsnZGVzY3InOiAnPGkyJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAEAAgADAAQABQA=',
    Int16Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '>u2',
    'AQB2AHsnZGVzY3InOiAnPnUyJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAABAAIAAwAEAAU=',
    Uint16Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '|i1',
    'AQB2AHsnZGVzY3InOiAnfGkxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAQIDBAU=',
    Int8Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '|u1',
    'AQB2AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAQIDBAU=',
    Uint8Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '|b1',
    'AQB2AHsnZGVzY3InOiAnfGIxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAQEBAQE=',
    Uint8Array.of(0, 1, 1, 1, 1, 1),
  ],
  [
    '<f8, Fortran order, version 1.0',
    'AQB2AHsnZGVzY3InOiAnPGY4JywgJ2ZvcnRyYW5fb3JkZXInOiBUcnVlLCAnc2hhcGUnOiAoMiwgMyksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAAAAAAAAAAhAAAAAAAAA8D8AAAAAAAAQQAAAAAAAAABAAAAAAAAAFEA=',
    Float64Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '<f8, Fortran order, version 2.0',
    'AgB0AAAAeydkZXNjcic6ICc8ZjgnLCAnZm9ydHJhbl9vcmRlcic6IFRydWUsICdzaGFwZSc6ICgyLCAzKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAAAAAAAAAAhAAAAAAAAA8D8AAAAAAAAQQAAAAAAAAABAAAAAAAAAFEA=',
    Float64Array.of(0, 1, 2, 3, 4, 5),
  ],
  [
    '<f8, Fortran order, version 3.0',
    'AwB0AAAAeydkZXNjcic6ICc8ZjgnLCAnZm9ydHJhbl9vcmRlcic6IFRydWUsICdzaGFwZSc6ICgyLCAzKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAAAAAAAAAAhAAAAAAAAA8D8AAAAAAAAQQAAAAAAAAABAAAAAAAAAFEA=',
    Float64Array.of(0, 1, 2, 3, 4, 5),
  ],
]

test.each(SAVED)('%s, as NumPy saves it', async (_, base64, values) => {
  const path = at('numpy.npy')
  writeFileSync(path, Buffer.from(HEAD + base64, 'base64'))
  const array = await session.readNpy<readonly [number, number]>(path)
  expect(await array.shape()).toEqual([2, 3])
  expect(await array.toTypedArray()).toEqual(values)
})

test('what is read is an array like others: queries, chains, loops, writes', async () => {
  const path = file(said("'<f8'", '(2, 2)'), new Uint8Array(Float64Array.of(1, 2, 3, 4).buffer))
  const array = await session.readNpy<[number, number]>(pathToFileURL(path))
  await session.parallelFor(array, {}, (x, [i]) => x * 10 + i)
  expect(await array.row(1)).toEqual(Float64Array.of(31, 41))
  expect(await array.map((x) => x + 1).sum()).toBe(106)
  await array.set([0, 0], -0)
  expect(await array.at(0, 0)).toBe(-0)
  expect(String(array.explain())).toContain('a.npy')
  await array.release()
  await expect(array.sum()).rejects.toThrow(
    new PlanError('a.npy was made with its elements and then released, so what it held is gone. Release it after its last use.'),
  )
})

test('what writeNpy writes, byte by byte', async () => {
  const path = at('w.npy')
  expect(await session.fromTypedArray(Int32Array.of(1, -2), [2]).writeNpy(path)).toEqual({ rows: 2, bytes: 136 })
  const header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }"
  expect(readFileSync(path).toString('latin1')).toBe(`\x93NUMPY\x01\x00\x76\x00${header.padEnd(117)}\n\x01\x00\x00\x00\xfe\xff\xff\xff`)
  const written = async (array: { writeNpy(path: string): Promise<unknown> }): Promise<readonly [string | undefined, unknown]> => {
    await array.writeNpy(path)
    const again = await session.readNpy(path, { int64: 'bigint' })
    return [/'descr': '(...)'/.exec(readFileSync(path).toString('latin1'))?.[1], await again.toTypedArray()]
  }
  const small = session.fromRows([3, 1, 2])
  expect(await written(small)).toEqual(['<f8', Float64Array.of(3, 1, 2)])
  expect(await written(small.map((x) => x > 1))).toEqual(['|b1', Uint8Array.of(1, 0, 1)])
  expect(await written(session.zeros([2, 2], { dtype: 'bool' }))).toEqual(['|b1', new Uint8Array(4)])
  expect(await written(session.fill([2], 5n))).toEqual(['<i8', BigInt64Array.of(5n, 5n)])
  const sparse = session.sparse([2, 3], { dtype: 'f32' })
  await sparse.set([1, 1], 2.5)
  expect(await written(sparse)).toEqual(['<f4', Float32Array.of(0, 0, 0, 0, 2.5, 0)])
  expect(await written(session.zeros([0, 3]))).toEqual(['<f8', new Float64Array(0)])
  expect(await written(session.zeros([200_000, 3], { dtype: 'u8' }))).toEqual(['|u1', new Uint8Array(600_000)])
})

test('what no .npy file holds is refused before or when it is computed, and the file stays as it was', async () => {
  const path = at('kept.npy')
  writeFileSync(path, 'as it was')
  const rows = session.fromRows([{ a: 1 }, { a: 2 }])
  const some = session.fromRows([1, null]) as never as ReturnType<typeof session.zeros>
  expect(await refusal(() => (rows as never as typeof some).writeNpy(path))).toEqual(
    new PlanError(
      'writeNpy() works on numbers; the elements of this array are { a: f64 }.\nTake a column first, as in map((row) => row.price).writeNpy().',
    ),
  )
  expect(await refusal(() => some.writeNpy(path))).toEqual(
    new PlanError(
      'writeNpy of fromRows writes numbers, which cannot hold null, and one element is null. Replace nulls, as in map((x) => x ?? 0).',
    ),
  )
  const objects = session.fill([2], { a: 1 }) as never as typeof some
  expect(String(await refusal(() => objects.writeNpy(path)))).toBe(
    'PlanError: writeNpy() works on numbers; the elements of this array are object?.\nConvert them first, as in map((value) => Number(value)).writeNpy().',
  )
  const texts = rows.map((r) => JSON.parse(JSON.stringify(String(r.a)))) as never as typeof some
  expect(String(await refusal(() => texts.writeNpy(path)))).toBe(
    'PlanError: writeNpy of fromRows.map(…) writes numbers, and the elements are utf8. Select or map to one number each, or use writeParquet().',
  )
  expect(String(await refusal(() => session.zeros([2]).writeNpy(at('none/a.npy'))))).toBe(
    `SourceError: ${at('none/a.npy')} cannot be written: there is no folder ${at('none')}. Make it first, for example with mkdirSync("${at('none')}", { recursive: true }).`,
  )
  expect(await refusal(() => session.zeros([2]).writeNpy(path, { signal: AbortSignal.abort('enough') }))).toBe('enough')
  expect(readFileSync(path, 'utf8')).toBe('as it was')
})

const NUMBERS = 'arrays hold float64, float32, bool, and integers of 8 to 64 bits'
const REFUSED: readonly (readonly [what: string, header: string, elements: number, message: string])[] = [
  ['complex', said("'<c16'", '(1,)'), 16, `has elements of dtype <c16, and ${NUMBERS}. Save its parts as two arrays, a.real and a.imag.`],
  [
    'half',
    said("'<f2'", '(1,)'),
    2,
    `has elements of dtype <f2, and ${NUMBERS}. Save it as one of them: a.astype('float32') has the same numbers.`,
  ],
  ['long double', said("'<f16'", '(1,)'), 16, `has elements of dtype <f16, and ${NUMBERS}. Save it as a.astype('float64'), which rounds.`],
  [
    'dates',
    said("'<M8[ns]'", '(1,)'),
    8,
    `has elements of dtype <M8[ns], and ${NUMBERS}. Save it as a.astype('int64'), which counts its unit.`,
  ],
  [
    'texts',
    said("'<U5'", '(1,)'),
    20,
    `has elements of dtype <U5, and ${NUMBERS}. Save texts as a table: pandas.DataFrame({'text': a.ravel()}).to_parquet(file), for readParquet().`,
  ],
  [
    'objects',
    said("'|O'", '(1,)'),
    8,
    `has elements of dtype |O, and ${NUMBERS}. Save it as one of them, as in a.astype('float64'); what is no number belongs into a table.`,
  ],
  [
    'fields',
    said("[('a', '<f8'), ('b', '<i4', (2,))]", '(1,)'),
    16,
    `has elements of dtype with fields, and ${NUMBERS}. Save each field as an array of its own, as in np.save(file, a['name']), or the rows as a table: pandas.DataFrame(a).to_parquet(file).`,
  ],
  [
    'bytes in no order',
    said("'f8'", '(1,)'),
    8,
    "has elements of dtype f8, which does not say the order of their bytes. Save it with one, as in a.astype('<f8').",
  ],
  [
    'a dtype that there is not',
    said("'<q9'", '(1,)'),
    9,
    `has elements of dtype <q9, and ${NUMBERS}. Save it as one of them, as in a.astype('float64').`,
  ],
  [
    'no axis',
    said("'<f8'", '()'),
    8,
    'has a single number and no axis, and arrays have at least one. Save it with one, as in np.save(file, a.reshape(1)).',
  ],
  [
    'too few elements',
    said("'<f8'", '(2, 3)'),
    40,
    'is damaged: it has 40 bytes of elements, and the shape [2, 3] of 8 bytes each needs 48: it was cut, or is still being written.',
  ],
  [
    'too many elements',
    said("'<f8'", '(1,)'),
    16,
    'is damaged: it has 16 bytes of elements, and the shape [1] of 8 bytes each needs 8: a .npy file has one array and nothing behind it.',
  ],
  [
    'a shape beyond all',
    said("'<f8'", `(${'2000000000, '.repeat(60)})`),
    8,
    `is damaged: it has 8 bytes of elements, and the shape [${new Array(60).fill(2e9).join(', ')}] of 8 bytes each needs Infinity: it was cut, or is still being written.`,
  ],
  [
    'an extent that is too large',
    said("'<f8'", '(3000000000,)'),
    8,
    'has the extent 3000000000 at axis 0, and arrays have at most 2147483647 along one. Save it with more axes, as in a.reshape(-1, 1024).',
  ],
  ['an extent below 0', said("'<f8'", '(-1,)'), 8, 'is damaged: the shape in its header has the extent -1 at axis 0.'],
  [
    'an extent that is no number',
    said("'<f8'", '(True,)'),
    8,
    'is damaged: the shape in its header has an extent at axis 0 that is no whole number.',
  ],
  ['a list for a shape', said("'<f8'", '[1]'), 8, 'is damaged: the shape in its header is no tuple.'],
  ['a number for a shape', said("'<f8'", '(1)'), 8, 'is damaged: the shape in its header is no tuple.'],
  [
    'too many axes',
    said("'<f8'", `(${'1, '.repeat(65)})`),
    8,
    'is damaged: the shape in its header has 65 axes, and arrays of NumPy have at most 64.',
  ],
  ['an order that is no bool', said("'<f8'", '(1,)', '0'), 8, 'is damaged: fortran_order in its header is neither True nor False.'],
  [
    'no shape',
    "{'descr': '<f8', 'fortran_order': False}",
    8,
    'is damaged: its header has "descr", "fortran_order" instead of descr, fortran_order, shape.',
  ],
  ['nothing', '{}', 8, 'is damaged: its header has nothing instead of descr, fortran_order, shape.'],
  [
    'one name too many',
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': None}",
    8,
    'is damaged: its header has "descr", "fortran_order", "shape", "x" instead of descr, fortran_order, shape.',
  ],
  ['a name twice', "{'descr': '<f8', 'descr': '<f8'}", 8, 'is damaged: its header is no literal of Python, it has "descr" twice.'],
  ['a call', "{'descr': open('/etc/passwd')}", 8, 'is damaged: its header is no literal of Python, "o" at character 10 makes no sense.'],
  ['a sum', said("'<f8'", '(1+1,)'), 8, 'is damaged: its header is no literal of Python, "+" at character 52 makes no sense.'],
  ['a float', said("'<f8'", '(1.0,)'), 8, 'is damaged: its header is no literal of Python, "1" at character 51 makes no sense.'],
  ['a comma alone', said("'<f8'", '(,)'), 8, 'is damaged: its header is no literal of Python, "," at character 51 makes no sense.'],
  ['two values', '{} {}', 8, 'is damaged: its header is no literal of Python, "{" at character 3 makes no sense.'],
  ['half a text', "{'descr", 8, 'is damaged: its header is no literal of Python, it ends too early.'],
  ['no dict', "('descr',)", 8, 'is damaged: its header is no dict.'],
  ['brackets without end', '['.repeat(60_000), 8, 'is damaged: its header is no literal of Python, it is more than 32 levels deep.'],
  ['no header', '', 8, 'is damaged: its header is no literal of Python, it ends too early.'],
]

test.each(REFUSED)('refused: %s', async (_, header, elements, message) => {
  const path = file(header, new Uint8Array(elements))
  expect(await refusal(() => session.readNpy(path))).toEqual(new SourceError(`${path} ${message}`, path))
})

const FILES: readonly (readonly [what: string, bytes: readonly number[] | string, message: string])[] = [
  ['empty', '', 'is empty. A .npy file has at least a header.'],
  ['half a magic', '\x93NUM', 'is no .npy file: it does not begin with \\x93NUMPY.'],
  ['other bytes', '\x00\x01\x02\x03', 'is no .npy file: it does not begin with \\x93NUMPY.'],
  ['a text', 'a,b\n1,2\n', 'looks like text, and readNpy() reads NumPy arrays (.npy). Read CSV with readCsv(), lines with readText().'],
  [
    'an .npz',
    'PK\x03\x04\x14\x00',
    'is a zip archive, as .npz files are, and readNpy() reads one array. Unpack it first, for example with unzip PATH, and read the .npy files in it.',
  ],
  ['magic alone', '\x93NUMPY\x01\x00', 'was cut, or is still being written: its header is not all there.'],
  ['a cut length', '\x93NUMPY\x02\x00\x10\x00\x00', 'was cut, or is still being written: its header is not all there.'],
  ['a header that is cut', '\x93NUMPY\x01\x00\x76\x00{', 'was cut, or is still being written: its header is not all there.'],
  [
    'a header of 4 GB',
    '\x93NUMPY\x02\x00\xff\xff\xff\xff{}',
    'says that its header has 4294967295 bytes, and those of arrays of numbers have at most 65535: it is damaged, or has fields with names.',
  ],
  [
    'version 4',
    '\x93NUMPY\x04\x00\x02\x00{}',
    'has version 4.0 of the .npy format, and 1.0, 2.0 and 3.0 are read. Save it with a version that is, as in np.lib.format.write_array(file, a, (1, 0)).',
  ],
  [
    'version 1.1',
    '\x93NUMPY\x01\x01\x02\x00{}',
    'has version 1.1 of the .npy format, and 1.0, 2.0 and 3.0 are read. Save it with a version that is, as in np.lib.format.write_array(file, a, (1, 0)).',
  ],
  ['no UTF-8', '\x93NUMPY\x03\x00\x02\x00\x00\x00\xff\xff', 'is damaged: its header is not UTF-8.'],
]

test.each(FILES)('refused: a file that is %s', async (_, bytes, message) => {
  const path = at('b.npy')
  writeFileSync(path, Buffer.from(bytes as string, 'latin1'))
  expect(await refusal(() => session.readNpy(path))).toEqual(new SourceError(`${path} ${message.replace('PATH', path)}`, path))
})

test('elements that arrays do not hold are named by their keys', async () => {
  const bool = file(said("'|b1'", '(2, 2)', 'True'), [0, 1, 2, 1])
  expect(await refusal(() => session.readNpy(bool))).toEqual(
    new SourceError(`${bool}: the byte 2 at [0, 1] is no bool, which is 0 or 1: the file is damaged.`, bool),
  )
  const wide = file(said("'<u8'", '(2,)'), new Uint8Array(BigUint64Array.of(1n, 2n ** 64n - 1n).buffer))
  expect(await refusal(() => session.readNpy(wide))).toEqual(
    new SourceError(
      `${wide}: the integer 18446744073709551615 at [1] is beyond ±2^53, up to where numbers are exact. Read 64-bit integers as bigints with { int64: 'bigint' }.`,
      wide,
    ),
  )
  expect(await refusal(() => session.readNpy(wide, { int64: 'bigint' }))).toEqual(
    new SourceError(
      `${wide}: the integer 18446744073709551615 at [1] is beyond 2^63, up to where 64-bit integers of arrays go. Save it as a.astype('float64'), which rounds.`,
      wide,
    ),
  )
})

test('several files, other readers, other options', async () => {
  const path = file(said("'<f8'", '(1,)'), new Uint8Array(8))
  expect(String(await refusal(() => session.readCsv(path)))).toBe(
    `SourceError: ${path} is a NumPy array (.npy), and readCsv() reads plain text. Read it with readNpy().`,
  )
  writeFileSync(at('z1.npy'), readFileSync(path))
  writeFileSync(at('z2.npy'), readFileSync(path))
  expect(String(await refusal(() => session.readNpy(at('z*.npy'))))).toBe(
    `SourceError: readNpy() reads one array, and 2 files were named: ${at('z1.npy')}, ${at('z2.npy')}. Read them one by one.`,
  )
  expect(String(await refusal(() => session.readNpy(path, { int64: 'text' } as never)))).toMatch(/^PlanError: The int64 of readNpy\(\)/)
})

test('a file that does not fit is a MemoryError, and leaves the memory as it was', async () => {
  const path = file(said("'|u1'", '(5000000, 1)'), new Uint8Array(5_000_000)) // rows are padded to 16 bytes
  expect(String(await refusal(() => session.readNpy(path)))).toMatch(/^MemoryError: /)
  expect(await session.fill([4_000_000], 1).sum()).toBe(4_000_000)
})
