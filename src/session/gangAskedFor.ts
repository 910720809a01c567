/** Whether this process is one of a gang, by its environment. Asked before anything of a gang is loaded. */
import { isMainThread } from 'node:worker_threads'
import { type GangSettings, settingsOf } from '../exec/gang/links/settings.ts'

let asked: { readonly settings: GangSettings | undefined } | undefined

/**
 * The same answer for all sessions of a process. Its variables are taken out of the environment: a program that this one starts is
 * not the same process of the gang.
 */
export function gangAskedFor(): GangSettings | undefined {
  if (asked !== undefined) return asked.settings
  const settings = isMainThread ? settingsOf(process.env) : undefined
  asked = { settings }
  for (const name of settings === undefined ? [] : Object.keys(process.env)) if (name.startsWith('DA_')) delete process.env[name]
  return settings
}
