/** A gang in the process that runs the program: its loops, and for the arrays of each session a journal of their passes. */
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { IterationSpace } from '../loops/blocks/schedule.ts'
import type { KernelLoop } from '../loops/kernelLoop.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import type { LoopResources } from '../loops/preparedLoop.ts'
import type { Arena } from '../memory/arena.ts'
import { elsewhereOf } from './aside.ts'
import { GangLoop } from './gangLoop.ts'
import { Journal } from './journal.ts'
import type { GangSettings } from './links/settings.ts'
import { measuredLinks } from './measuredLinks.ts'
import { type GangEvents, Members } from './members.ts'

/** Copies of arrays that passes write may take one part in so many of a session's memory budget, beside it. */
const KEPT_SHARE = 4

export class Gang {
  readonly members: Members
  readonly #journals = new Map<Arena, Journal>()

  constructor(members: Members) {
    this.members = members
    members.listen(({ phase }) => {
      if (phase === 'lost') for (const journal of this.#journals.values()) journal.broke()
    })
  }

  /** Starts a gang; resolves when all have joined. `code` is the program of worker threads. */
  static async start(settings: GangSettings, code: string | URL): Promise<Gang> {
    const members = await Members.start(settings, code)
    members.linkCost = await measuredLinks(members)
    return new Gang(members)
  }

  /** The journal of passes on a session's arrays, made when first asked for. Arrays are put aside into files of `spill`. */
  journal(arena: Arena, spill?: { file(): string }): Journal {
    const elsewhere = (): Journal => new Journal(elsewhereOf(this.members, spill && (() => spill.file())), arena.budgetBytes / KEPT_SHARE)
    const known = this.#journals.get(arena) ?? elsewhere()
    this.#journals.set(arena, known)
    return known
  }

  /** Forgets the journal of a session whose arrays are gone. */
  leave(arena: Arena): void {
    this.#journals.get(arena)?.forget()
    this.#journals.delete(arena)
  }

  /** A loop whose passes run in all processes, where they are worth it. */
  loop(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace, resources: LoopResources): KernelLoop {
    return new GangLoop(inputs, ir, space, { ...resources, members: this.members, journal: this.journal(resources.arena) })
  }

  /** Tells of processes that are lost, and of those that join. */
  listen(events: GangEvents): () => void {
    return this.members.listen(events)
  }

  /** Ends the other processes at once, for a program that exits. */
  releaseNow(code: number): void {
    this.members.releaseNow(code)
  }

  async release(code: number): Promise<void> {
    await this.members.release(code)
  }
}
