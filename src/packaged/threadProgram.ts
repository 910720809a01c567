/**
 * The program of worker threads as text, in place of `exec/workers/threadProgram.ts`: no bundler of an application has to know
 * that there is a file to be taken along, and none can mistake it.
 */

let text = ''

export async function loadThreadProgram(): Promise<void> {
  text ||= (await import('./threadText.ts')).threadText
}

export function threadProgram(_?: string): string | URL {
  return text
}
