/** The main file of threads that run from the sources: it imports the module of handlers that its data name. */
import { workerData } from 'node:worker_threads'
import { HANDLERS } from '../handlers.ts'
import type { Handlers } from './runTask.ts'
import { runThread, type ThreadData } from './runThread.ts'

const data = workerData as ThreadData // written by threadWorker.ts
runThread(
  data,
  data.handlers === undefined
    ? Promise.resolve(HANDLERS)
    : import(/* @vite-ignore */ data.handlers).then((module: { readonly HANDLERS: Handlers | Promise<Handlers> }) => module.HANDLERS),
)
