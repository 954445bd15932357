mnemo-pg: cannot write ../cli/nn/x.png: ../cli/nn is no folder
