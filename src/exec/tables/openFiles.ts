/** Files that stay open for several reads: opening one takes about as long as reading some pages of it. */
import type { OpenFile, OpenFiles } from '../../core/ports.ts'

/** Returns the result of `use`, and closes the files that it opened when it has ended. */
export async function withOpenFiles<T>(use: (files: OpenFiles) => Promise<T>): Promise<T> {
  const open = new Map<string, OpenFile>()
  try {
    return await use({
      async opened<F extends OpenFile>(path: string, make: () => Promise<F>): Promise<F> {
        const known = open.get(path)
        if (known !== undefined) return known as F // all files of one path are made by the same kind of `make`
        const made = await make()
        open.set(path, made)
        return made
      },
    })
  } finally {
    await Promise.all([...open.values()].map((file) => file.close()))
  }
}
