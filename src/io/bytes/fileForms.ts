/**
 * Tells by its first bytes what a file is that was given to a reader of something else, in an error that says which
 * reader reads it, or how it is unpacked.
 */
import { SourceError } from '../../core/errors.ts'
import { isUrl, nameOfPath } from './byteSource.ts'
import type { ByteSource } from './source.ts'

export type Reader = 'readParquet' | 'readArrow' | 'readCsv' | 'readNdjson' | 'readText' | 'readNpy' | 'load'

interface Form {
  readonly reads: Reader | 'nothing'
  readonly text: string
  /** A command that writes the file as it was to standard output. */
  readonly unpack?: string
}

const READS: Readonly<Record<Reader, string>> = {
  readParquet: 'Parquet',
  readArrow: 'Arrow IPC',
  readCsv: 'plain text',
  readNdjson: 'plain text',
  readText: 'plain text',
  readNpy: 'NumPy arrays (.npy)',
  load: 'arrays that save() wrote',
}

/** The number of bytes that tell all forms apart. */
const HEAD_BYTES = 16

/** Throws SourceError for a file of a form that `reader` does not read; one whose form is not known is left to the reader. */
export async function checkForm(bytes: ByteSource, path: string, reader: Reader, known?: Uint8Array): Promise<void> {
  const head = known?.subarray(0, HEAD_BYTES) ?? (await bytes.read(0, Math.min(HEAD_BYTES, bytes.size)))
  const form = await formOf(bytes, head)
  if (form === undefined || form.reads === reader || (form === TEXT && READS[reader] === READS.readText)) return
  throw new SourceError(`${path} ${form.text}, and ${reader}() reads ${READS[reader]}. ${cureOf(form, path)}`, path)
}

const TEXT: Form = { reads: 'nothing', text: 'looks like text' }

async function formOf(bytes: ByteSource, head: Uint8Array): Promise<Form | undefined> {
  const starts = (...magic: readonly number[]) => magic.every((byte, i) => head[i] === byte)
  const text = Buffer.from(head).toString('latin1')
  if (starts(0x1f, 0x8b)) return { reads: 'nothing', text: 'is compressed with gzip', unpack: 'gzip -dc' }
  if (starts(0x28, 0xb5, 0x2f, 0xfd)) return { reads: 'nothing', text: 'is compressed with zstd', unpack: 'zstd -dc' }
  if (starts(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0)) return { reads: 'nothing', text: 'is compressed with xz', unpack: 'xz -dc' }
  if (/^BZh[1-9]1AY&SY/.test(text)) return { reads: 'nothing', text: 'is compressed with bzip2', unpack: 'bzip2 -dc' }
  if (starts(0x50, 0x4b, 3, 4) && head[5] === 0) return { reads: 'nothing', text: 'is a zip archive, as Excel workbooks are' }
  if (text.startsWith('\x93NUMPY')) return { reads: 'readNpy', text: 'is a NumPy array (.npy)' }
  if (text.startsWith('ARROW1\0')) return { reads: 'readArrow', text: 'is an Arrow file' }
  // a text may begin with these letters
  if (text.startsWith('PAR1') && (await endsWithParquet(bytes))) return { reads: 'readParquet', text: 'is a Parquet file' }
  return isText(head) ? TEXT : undefined
}

async function endsWithParquet({ size, read }: ByteSource): Promise<boolean> {
  if (size < 12) return false
  return /^PAR[1E]$/.test(Buffer.from(await read(size - 4, size)).toString('latin1'))
}

/** Whether the bytes are those of a text, which has no control characters but white space. */
function isText(head: Uint8Array): boolean {
  if (head.length === 0 || head.some((byte) => (byte < 32 && ![9, 10, 12, 13].includes(byte)) || byte === 127)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true }) // a character may go on behind the bytes
    return true
  } catch {
    return false
  }
}

function cureOf(form: Form, path: string): string {
  if (form === TEXT) return 'Read CSV with readCsv(), lines with readText().'
  if (form.reads !== 'nothing') return `Read it with ${form.reads}().`
  const place = isUrl(path) ? nameOfPath(path) : path
  const first = isUrl(path) ? 'Download it and unpack it first' : 'Unpack it first'
  if (form.unpack === undefined) return `${first}, or save the sheet as CSV.`
  const plain = /\.(gz|gzip|zst|zstd|xz|bz2)$/i.test(place) ? place.replace(/\.[^.]*$/, '') : `${place}.plain`
  return `${first}, for example with ${form.unpack} ${place} > ${plain}.`
}
