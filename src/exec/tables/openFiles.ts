/** Files that stay open for reads which follow one another: opening one takes about as long as reading some pages of it. */
import type { OpenFile, OpenFiles } from '../../core/ports.ts'

/** What `use` gives, which has read all that it wants of the files when it ends. */
export async function withOpenFiles<T>(use: (files: OpenFiles) => Promise<T>): Promise<T> {
  const open = new Map<string, OpenFile>()
  try {
    return await use({
      async opened<F extends OpenFile>(path: string, make: () => Promise<F>): Promise<F> {
        const known = open.get(path)
        if (known !== undefined) return known as F // of one path all are made alike
        const made = await make()
        open.set(path, made)
        return made
      },
    })
  } finally {
    await Promise.all([...open.values()].map((file) => file.close()))
  }
}
