/** The licences of the packages whose code is in ours, as they ask to be passed on. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'

/** `modules` are paths of files in packages, however deep they are installed. */
export function licensesText(modules: readonly string[]): string {
  const folders = [...new Set(modules.map(folderOf))]
  const parts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Readonly<Record<string, string>>
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|copyright|notice)/i.test(file))
    if (files.length === 0) throw new Error(`${name} has no file with its licence, ${license}.`)
    const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim())
    return { name: `${name} ${version} (${license})`, text: texts.join('\n\n') }
  })
  parts.sort((a, b) => (a.name < b.name ? -1 : 1))
  const head = 'distarray contains code of these packages, in whole or in part:\n\n'
  const list = parts.map(({ name }) => `  ${name}\n`).join('')
  return `${head}${list}${parts.map(({ name, text }) => `\n${'-'.repeat(80)}\n${name}\n\n${text}\n`).join('')}`
}

function folderOf(module: string): string {
  const steps = module.replace(/^\0+/, '').replace(/\?.*$/, '').split(sep)
  const at = steps.lastIndexOf('node_modules') + 1
  return steps.slice(0, at + (steps[at]?.startsWith('@') ? 2 : 1)).join(sep)
}
