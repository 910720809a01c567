/** The life of a process of a gang that does not run the program. */
import { type LinkEvents, Links } from './links/links.ts'
import type { GangSettings } from './links/settings.ts'
import { GangNode, type NodeResources } from './node.ts'

/** Serves rank 0; resolves with the exit code of its program, rejects with a GangError when it is lost. */
export async function serveGang(settings: GangSettings, code: string | URL, resources: NodeResources): Promise<number> {
  let events: LinkEvents | undefined
  const early: (() => void)[] = []
  const later = (run: (to: LinkEvents) => void): void => {
    if (events === undefined) early.push(() => run(events as LinkEvents))
    else run(events)
  }
  return await new Promise<number>((resolve, reject) => {
    const starting = Links.start(settings, code, {
      took: (from, message) => later((to) => to.took(from, message)),
      lost: reject,
      released: resolve,
    })
    starting.then((links) => {
      links.hold()
      const node = new GangNode(links, resources)
      events = { took: (_, message) => node.take(message), lost: reject, released: resolve }
      for (const run of early) run()
    }, reject)
  })
}
