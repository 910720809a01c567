/**
 * An object as it is written to a store: part by part, and there when all parts are, as files are that are renamed.
 *
 *     begin --> upload 7
 *     send  --> parts 1, 2, … of upload 7, a few at a time      nobody sees them
 *     end   --> upload 7 is the object                          or, after an error: upload 7 is dropped
 *
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
 */
import { SourceError } from '../../core/errors.ts'
import type { Access } from '../../core/ports.ts'
import { askStore, type StoreAnswer, type StoreQuestion, textOfXml } from './s3.ts'

/** Stores take parts from 5 MiB on, all of one length but for the last, and 10,000 of them. */
export const PART_BYTES: number = 8 * 2 ** 20
const MOST_PARTS = 10_000
/** Parts under way at once. */
const WIDTH = 2

type Bytes = Uint8Array<ArrayBuffer>

export class Upload {
  readonly #address: string
  readonly #access: Access
  #id: string | undefined
  readonly #etags: string[] = []
  readonly #underWay = new Set<Promise<unknown>>()
  #failed: { readonly error: unknown } | undefined
  readonly #mostParts: number
  /** `access` is one of the store: see `s3Access`. */
  constructor(address: string, access: Access, mostParts: number = MOST_PARTS) {
    this.#address = address
    this.#access = access
    this.#mostParts = mostParts
  }

  get isBegun(): boolean {
    return this.#id !== undefined
  }

  async begin(): Promise<void> {
    const { text } = await this.#ask({ method: 'POST', query: { uploads: '' } })
    const id = /<UploadId>([^<]+)<\/UploadId>/.exec(text)?.[1]
    if (id === undefined)
      throw new SourceError(`${this.#address} cannot be written: the server answered without the id of an upload.`, this.#address)
    this.#id = textOfXml(id)
  }

  /** Sends a part, whose bytes are the upload's from then on; resolves when there is room for the next. Throws what became of any before it. */
  async send(part: Bytes): Promise<void> {
    this.#check()
    const number = this.#etags.length + 1
    if (number > this.#mostParts)
      throw new SourceError(
        `${this.#address} cannot be written: it has more than ${(this.#mostParts * PART_BYTES) / 2 ** 30} GiB, and stores take no more in parts of ${PART_BYTES / 2 ** 20} MiB. Write it in several, for example with { partitionBy }.`,
        this.#address,
      )
    this.#etags.push('')
    const sent = this.#ask({ method: 'PUT', query: { partNumber: `${number}`, uploadId: this.#id ?? '' }, body: part }).then(
      ({ etag }) => {
        this.#etags[number - 1] = etag
      },
      (error: unknown) => {
        this.#failed ??= { error }
      },
    )
    this.#underWay.add(sent)
    void sent.then(() => this.#underWay.delete(sent))
    if (this.#underWay.size >= WIDTH) await Promise.race(this.#underWay)
  }

  /** Sends the last part, and waits for all. */
  async sendLast(part: Bytes): Promise<void> {
    if (part.length > 0 || this.#etags.length === 0) await this.send(part)
    await Promise.all(this.#underWay)
    this.#check()
  }

  /** Makes an object of the parts. */
  async end(): Promise<void> {
    const parts = this.#etags.map((etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${xmlOfText(etag)}</ETag></Part>`)
    const body = new TextEncoder().encode(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
    await this.#ask({ method: 'POST', query: { uploadId: this.#id ?? '' }, body })
  }

  /** Drops all parts, as far as the store can be reached; does not throw. */
  async drop(): Promise<void> {
    await Promise.all(this.#underWay)
    if (this.#id === undefined) return
    // whatever ended the writing does not end this
    const { signal: _, ...access } = this.#access
    const question = { method: 'DELETE', query: { uploadId: this.#id }, use: 'written' } as const
    await askStore(this.#address, access, question).catch(() => undefined)
  }

  #check(): void {
    if (this.#failed !== undefined) throw this.#failed.error
  }

  async #ask(question: StoreQuestion): Promise<StoreAnswer> {
    return await askStore(this.#address, this.#access, { ...question, use: 'written' })
  }
}

function xmlOfText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
