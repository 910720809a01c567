/** Compares printed text with what a document promises; `…` in the promise stands for any text within a line. */

/** Where the two part, for a message; undefined when they agree. Space at the ends of lines does not count. */
export function differenceOf(expected: string, actual: string): string | undefined {
  const wanted = linesOf(expected)
  const got = linesOf(actual)
  const at = wanted.findIndex((line, i) => !matches(line, got[i]))
  if (at === -1 && wanted.length === got.length) return undefined
  const line = at === -1 ? wanted.length : at
  return [
    `line ${line + 1} of the output differs:`,
    `  promised  ${wanted[line] ?? '(end)'}`,
    `  printed   ${got[line] ?? '(end)'}`,
    'The whole output:',
    ...got.map((text) => `  ${text}`),
  ].join('\n')
}

function linesOf(text: string): readonly string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd())
}

function matches(pattern: string, line: string | undefined): boolean {
  if (line === undefined) return false
  const parts = pattern.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(line)
}
