/** Reads from the environment whether this process is one of a gang, before any code of gangs is loaded. */
import { isMainThread } from 'node:worker_threads'
import { type GangSettings, settingsOf } from '../exec/gang/links/settings.ts'

let asked: { readonly settings: GangSettings | undefined } | undefined

/**
 * The gang's settings, the same for all sessions of a process; undefined where it is in no gang. Their variables are removed from the
 * environment: a program that this one starts is not the same process of the gang.
 */
export function gangAskedFor(): GangSettings | undefined {
  if (asked !== undefined) return asked.settings
  const settings = isMainThread ? settingsOf(process.env) : undefined
  asked = { settings }
  for (const name of settings === undefined ? [] : Object.keys(process.env)) if (name.startsWith('DA_')) delete process.env[name]
  return settings
}
