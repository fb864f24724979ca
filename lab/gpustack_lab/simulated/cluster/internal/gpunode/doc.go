// Package gpunode is what the SIMULATED GPU Operator's image does on each GPU node: validations that leave marker
// files, their metrics, and the labels of MIG. Names of components, files and variables are the real operator's
// (cmd/nvidia-validator at tag v26.7.0).
package gpunode
