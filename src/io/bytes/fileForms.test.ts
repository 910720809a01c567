/** Files given to a reader of something else. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { Float64, Table, tableToIPC, vectorFromArray } from 'apache-arrow'
import { afterAll, expect, test } from 'vitest'
import { SourceError } from '../../core/errors.ts'
import { Session } from '../../session/session.ts'

const folder = mkdtempSync(join(tmpdir(), 'forms-'))
const session = await Session.start({ workers: 1, progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

const CSV = 'a,b\n1,2\n'
const FORMS = {
  'a.csv.gz': zlib.gzipSync(CSV),
  'a.csv.zst': Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x24, CSV.length, 0x41, 0, 0]), Buffer.from(CSV)]),
  'a.xz': Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 4, 1, 2, 3, 4]),
  'a.csv.bz2': Buffer.from('BZh91AY&SYaaaaaaaa'),
  'a.xlsx': Buffer.from([0x50, 0x4b, 3, 4, 20, 0, 8, 0, 8, 0, 0, 0, 0, 0]),
  'a.arrow': Buffer.from(tableToIPC(new Table({ n: vectorFromArray([1, 2], new Float64()) }), 'file')),
  'a.parquet': Buffer.from('PAR1\x01\x02\x03aaaaaaaaaaPAR1', 'latin1'),
  'a.csv': Buffer.from(CSV),
  misnamed: zlib.gzipSync(CSV),
}
type Name = keyof typeof FORMS

for (const [name, bytes] of Object.entries(FORMS)) writeFileSync(join(folder, name), bytes)
const at = (name: string) => join(folder, name)

const UNPACKED: readonly (readonly [Name, string])[] = [
  ['a.csv.gz', `is compressed with gzip, and READS. Unpack it first, for example with gzip -dc ${at('a.csv.gz')} > ${at('a.csv')}.`],
  ['a.csv.zst', `is compressed with zstd, and READS. Unpack it first, for example with zstd -dc ${at('a.csv.zst')} > ${at('a.csv')}.`],
  ['a.xz', `is compressed with xz, and READS. Unpack it first, for example with xz -dc ${at('a.xz')} > ${at('a')}.`],
  ['a.csv.bz2', `is compressed with bzip2, and READS. Unpack it first, for example with bzip2 -dc ${at('a.csv.bz2')} > ${at('a.csv')}.`],
  ['a.xlsx', 'is a zip archive, as Excel workbooks are, and READS. Unpack it first, or save the sheet as CSV.'],
  [
    'misnamed',
    `is compressed with gzip, and READS. Unpack it first, for example with gzip -dc ${at('misnamed')} > ${at('misnamed.plain')}.`,
  ],
]

const READS = { readCsv: 'plain text', readText: 'plain text', readArrow: 'Arrow IPC', readParquet: 'Parquet' }
const READERS = Object.keys(READS) as (keyof typeof READS)[]

test.each(READERS)('%s says what a file of another form is', async (reader) => {
  const other: (readonly [Name, string])[] = [
    ...(reader === 'readArrow' ? [] : [['a.arrow', 'is an Arrow file, and READS. Read it with readArrow().'] as const]),
    ...(reader === 'readParquet' ? [] : [['a.parquet', 'is a Parquet file, and READS. Read it with readParquet().'] as const]),
    ...(READS[reader] === 'plain text' || reader === 'readParquet'
      ? []
      : [['a.csv', 'looks like text, and READS. Read CSV with readCsv(), lines with readText().'] as const]),
  ]
  const isText = READS[reader] === 'plain text'
  for (const [name, message] of [...UNPACKED.filter(([name]) => !isText || !unpacks(name)), ...other]) {
    const path = at(name)
    await expect(session[reader](path)).rejects.toThrow(
      new SourceError(`${path} ${message.replace('READS', `${reader}() reads ${READS[reader]}`)}`, path),
    )
  }
})

/** Whether readers of text unpack it. */
function unpacks(name: Name): boolean {
  return name === 'a.csv.gz' || name === 'misnamed' || (name === 'a.csv.zst' && 'createZstdDecompress' in zlib)
}

test('a text may begin as other files do', async () => {
  for (const begin of ['PAR1', 'ARROW1', 'BZh', 'PK']) {
    const path = at('text.csv')
    writeFileSync(path, `${begin},x\n1,2\n`)
    expect(await (await session.readCsv(path)).collect()).toStrictEqual([{ [begin]: 1, x: 2 }])
    expect(await (await session.readText(path)).collect()).toStrictEqual([`${begin},x`, '1,2'])
  }
})
