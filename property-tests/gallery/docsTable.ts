/** The table of the gallery's verdicts in docs/gallery.md, between two marks. */
import type { Verdict } from './runEntry.ts'

const START = '<!-- gallery: made of property-tests/gallery by UPDATE_GALLERY=1 -->\n'
const END = '<!-- end of gallery -->\n'

const TITLES: Readonly<Record<string, string>> = {
  linearAlgebra: 'Linear algebra',
  dynamicProgramming: 'Dynamic programming',
  stencils: 'Stencils and images',
  reductions: 'Scans and reductions',
  scratch: 'Scratch arrays',
  subscripts: 'Subscripts',
  disguised: 'Dependences in disguise',
  graphs: 'Graphs and sparse matrices',
  learning: 'Learning and simulation',
  reported: 'Loops that are silently wrong, or refused, elsewhere',
}

/** The page with the table of these verdicts in place of the one it has. */
export function withTable(page: string, verdicts: ReadonlyMap<string, readonly Verdict[]>): string {
  const [before, rest] = page.split(START)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined) throw new Error(`docs/gallery.md lacks the lines\n${START}${END}`)
  const tables = [...verdicts].map(([family, list]) => tableOf(TITLES[family] ?? family, list))
  return `${before}${START}\n${tables.join('\n')}\n${END}${after}`
}

function tableOf(title: string, verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ entry, what, loop, schedule, reason, blocking, edits }, i) => {
    const described = verdicts[i - 1]?.entry === entry ? '' : what
    const why = blocking === undefined ? reason : [codeOf(blocking), ...edits.slice(0, 1)].join('; ')
    return `| ${entry}${loop === '' ? '' : `: ${loop}`} | ${described} | ${schedule} | ${why.replaceAll('|', '\\|')} |`
  })
  return [`| ${title} | | verdict | why; what would free it |`, '|---|---|---|---|', ...rows, ''].join('\n')
}

/** `a [1] flow: a.get(i)` with its source as code. */
function codeOf(blocking: string): string {
  const [head = '', places] = blocking.split(/(?<=^\S+ \[[^\]]*\] \w+): /)
  if (places === undefined) return blocking
  const code = places
    .split('  and  ')
    .map((text) => `\`${text}\``)
    .join(' and ')
  return `${head}: ${code}`
}
