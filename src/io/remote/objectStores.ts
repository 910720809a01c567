/** Addresses of object stores, which are neither read nor written by their own names: what to do instead. */
import { SourceError } from '../../core/errors.ts'

interface ObjectStore {
  readonly schemes: RegExp
  /** The command that makes a signed address of https, before the address. */
  readonly sign: string
  /** The command that copies a file, before from and to. */
  readonly copy: string
}

const STORES: readonly ObjectStore[] = [
  { schemes: /^gc?s:/i, sign: 'gcloud storage sign-url', copy: 'gcloud storage cp' },
  { schemes: /^(az|azure|abfss?|wasbs?):/i, sign: 'az storage blob generate-sas --full-uri --blob-url', copy: 'azcopy copy' },
]

/** The SourceError for an address of an object store; undefined for others. */
export function objectStoreError(address: string, use: 'read' | 'written'): SourceError | undefined {
  const store = STORES.find(({ schemes }) => schemes.test(address))
  if (store === undefined) return undefined
  const head = `${address} cannot be ${use}: object stores are not ${use === 'read' ? 'read' : 'written to'} by their own addresses.`
  const cure =
    use === 'read'
      ? `Give a signed address of https, as ${store.sign} makes, or copy the file here first with ${store.copy}.`
      : `Write a file, and copy it there with ${store.copy}.`
  return new SourceError(`${head} ${cure}`, address)
}
