/**
 * Objects below an address that appear together, as far as a store can do that: all bytes are there before the first object is.
 *
 *     rows of year=2024 --> parts of an upload, and the rest in a file of this machine     nobody sees them
 *     all rows written  --> the rests are sent, and every upload is ended                  objects appear, one soon after the other
 *     an error before   --> uploads are dropped, and objects that appeared are removed
 *
 * Objects that are to be replaced stay until the new ones are there, which have other names.
 */
import { appendFile, readFile, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SourceError } from '../../core/errors.ts'
import { heardByMany } from '../../core/joinedSignal.ts'
import type { Access, WriteAccess } from '../../core/ports.ts'
import { writeError } from '../bytes/atomicFile.ts'
import { checkExisting, type FolderOutput, type FolderRequest } from '../bytes/folderOutput.ts'
import { inGroups } from '../bytes/inGroups.ts'
import { ownPath } from '../bytes/unpacked.ts'
import { askStore, checkAddress, objectsOf, s3Access } from './s3.ts'
import { PART_BYTES, Upload } from './s3Upload.ts'

/** Requests at the same time; each may hold a part. */
const WIDTH = 8

/** Runs `write`; gives the number of objects and of bytes. When anything fails the objects are those that were there. */
export async function writeS3Folder(
  asked: FolderRequest,
  write: (output: FolderOutput) => Promise<void>,
  partBytes: number = PART_BYTES,
): Promise<{ readonly files: number; readonly bytes: number }> {
  const request = { ...asked, signal: heardByMany(asked.signal) }
  const before = await checkS3Place(request)
  const objects = new Objects(request, new Set(before), partBytes)
  try {
    await write(objects)
    request.signal?.throwIfAborted()
    await objects.publish()
  } catch (error) {
    await objects.drop()
    throw error
  }
  if (request.existing === 'replace') await removeOld(request, before)
  return { files: objects.count, bytes: objects.bytes }
}

/** Addresses of the objects that are there. SourceError where none may be, or the store cannot be asked. */
export async function checkS3Place(request: FolderRequest): Promise<readonly string[]> {
  checkAddress(`${folderOf(request)}/`, 'written')
  const folder = `${folderOf(request)}/`
  const found = await objectsOf(folder, request, 'written')
  checkExisting(
    request,
    found.map((address) => address.slice(folder.length)),
  )
  return found
}

function folderOf({ path }: FolderRequest): string {
  return path.replace(/\/+$/, '')
}

async function removeOld(request: FolderRequest, old: readonly string[]): Promise<void> {
  const store = storeOf(request)
  try {
    await inGroups(old, WIDTH, (address) => askStore(address, store, { method: 'DELETE', use: 'written' }))
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    const { path } = request
    throw new SourceError(`${path} has its new files, and old ones beside them that could not be removed: ${error.message}`, path, {
      cause: error,
    })
  }
}

/** The access to the store without the signal: what ended the writing does not end these requests. */
function storeOf({ signal: _, ...request }: WriteAccess): Access {
  return s3Access(request)
}

interface UnderWay {
  readonly address: string
  readonly upload: Upload
  /** A file of the bytes that are no whole part yet; it is there as long as this object is held. */
  readonly rest: { readonly at: string }
  restBytes: number
}

class Objects implements FolderOutput {
  readonly #request: FolderRequest
  readonly #store: Access
  readonly #taken: ReadonlySet<string>
  readonly #partBytes: number
  readonly #underWay = new Map<string, UnderWay>()
  /** Objects that may have appeared. */
  readonly #published: UnderWay[] = []
  bytes = 0
  constructor(request: FolderRequest, taken: ReadonlySet<string>, partBytes: number) {
    this.#request = request
    this.#store = s3Access(request)
    this.#taken = taken
    this.#partBytes = partBytes
  }

  get count(): number {
    return this.#underWay.size
  }

  async append(file: string, bytes: Uint8Array): Promise<void> {
    this.#request.signal?.throwIfAborted()
    const one = this.#underWay.get(file) ?? (await this.#open(file))
    this.bytes += bytes.length
    if (one.restBytes + bytes.length < this.#partBytes) {
      await onDisk(one, () => appendFile(one.rest.at, bytes))
      one.restBytes += bytes.length
      return
    }
    if (!one.upload.isBegun) await one.upload.begin()
    const all = new Uint8Array(one.restBytes + bytes.length)
    all.set(await restOf(one))
    all.set(bytes, one.restBytes)
    let from = 0
    for (; from + this.#partBytes <= all.length; from += this.#partBytes) await one.upload.send(all.subarray(from, from + this.#partBytes))
    const rest = all.subarray(from)
    await onDisk(one, () => writeFile(one.rest.at, rest))
    one.restBytes = rest.length
  }

  /** Sends all bytes, and then has all objects appear. */
  async publish(): Promise<void> {
    const all = [...this.#underWay.values()]
    const begun = all.filter(({ upload }) => upload.isBegun)
    await inGroups(begun, WIDTH, async (one) => one.upload.sendLast(await restOf(one)))
    await inGroups(all, WIDTH, async (one) => {
      this.#published.push(one)
      if (one.upload.isBegun) await one.upload.end()
      else await askStore(one.address, this.#store, { method: 'PUT', body: await restOf(one), use: 'written' })
    })
    await this.#forget()
  }

  /** Drops uploads and removes objects, so that as little as can be is left; does not throw. */
  async drop(): Promise<void> {
    const store = storeOf(this.#request)
    await inGroups([...this.#underWay.values()], WIDTH, ({ upload }) => upload.drop())
    await inGroups(this.#published, WIDTH, ({ address }) =>
      askStore(address, store, { method: 'DELETE', use: 'written' }).catch(() => undefined),
    )
    await this.#forget()
  }

  async #open(file: string): Promise<UnderWay> {
    const { extension } = this.#request
    const folder = `${folderOf(this.#request)}/${dirname(file)}`
    let number = 0
    while (this.#taken.has(`${folder}/part-${number}${extension}`)) number++
    const address = `${folder}/part-${number}${extension}`
    const rest = await ownPath(`part${extension}`, (at) => writeFile(at, '', { mode: 0o600 }))
    const one = { address, upload: new Upload(address, this.#store), rest, restBytes: 0 }
    this.#underWay.set(file, one)
    return one
  }

  async #forget(): Promise<void> {
    for (const { rest } of this.#underWay.values()) await unlink(rest.at).catch(() => undefined)
  }
}

async function restOf(one: UnderWay): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await onDisk(one, () => readFile(one.rest.at)))
}

async function onDisk<T>({ rest }: UnderWay, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    throw writeError(rest.at, error)
  }
}
