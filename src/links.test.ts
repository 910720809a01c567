/** Documents begin with their titles, and links between them lead to a file that there is, and to a heading that it has. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const markdownIn = (folder: string) => readdirSync(join(ROOT, folder)).flatMap((name) => (name.endsWith('.md') ? [join(folder, name)] : []))
const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('README.md'))
const documents = [...['.', 'docs', 'docs/decisions'].flatMap(markdownIn), ...sources.map((name) => join('src', name))]

/** What a heading is called in links: lower case, without punctuation, with `-` for spaces. */
function anchorsOf(path: string): ReadonlySet<string> {
  const text = readFileSync(path, 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

test.each(documents)('%s', (document) => {
  const whole = readFileSync(join(ROOT, document), 'utf8')
  expect(whole.slice(0, whole.indexOf('\n'))).toMatch(/^# \S/)
  // what is code is no link: `ops[name](x)`
  const text = whole.replace(/^```[\s\S]*?^```$/gm, '').replace(/(`+)[^\n]*?\1/g, '')
  const links = [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^https?:/.test(link))
  const dead = links.filter((link) => {
    const [file = '', anchor] = link.split('#')
    const path = file === '' ? join(ROOT, document) : join(ROOT, dirname(document), file)
    if (!existsSync(path)) return true
    return anchor !== undefined && !anchorsOf(path).has(anchor)
  })
  expect(dead.map((link) => `${document}: ${link}`)).toEqual([])
})
