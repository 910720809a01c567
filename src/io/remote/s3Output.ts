/** An object of a store as the output of a writer: a part is collected in memory while those before it are sent. */
import type { WriteAccess } from '../../core/ports.ts'
import type { Output } from '../bytes/outputStream.ts'
import { checkAddress, s3Access } from './s3.ts'
import { PART_BYTES, Upload } from './s3Upload.ts'

/** An upload of the object, begun at once: what is denied is found before anything is computed. */
export async function openS3Output(address: string, access: WriteAccess, partBytes: number = PART_BYTES): Promise<Output> {
  checkAddress(address, 'written')
  const upload = new Upload(address, s3Access(access))
  await upload.begin()
  let part = new Uint8Array(partBytes)
  let filled = 0
  return {
    async append(bytes) {
      for (let from = 0; from < bytes.length; ) {
        const taken = bytes.subarray(from, from + partBytes - filled)
        part.set(taken, filled)
        filled += taken.length
        from += taken.length
        if (filled < partBytes) return
        await upload.send(part)
        part = new Uint8Array(partBytes)
        filled = 0
      }
    },
    async finish() {
      await upload.sendLast(part.subarray(0, filled))
      await upload.end()
    },
    discard: () => upload.drop(),
  }
}
