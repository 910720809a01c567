/** All that threads of the package run. */
import { workerData } from 'node:worker_threads'
import { runThread, type ThreadData } from '../exec/workers/runThread.ts'
import { HANDLERS } from '../session/threadHandlers.ts'

runThread(workerData as ThreadData, HANDLERS) // written by threadWorker.ts
