# . ./home.sh: what uwf and uwf-eval keep is in ./home, and their sandboxes take what the sandbox around them leaves.
export UWF_HOME=$PWD/home/uwf OCAS_HOME=$PWD/home/ocas UWF_EVAL_DIR=$PWD/home/eval UWF_BUILTIN_SANDBOX=best-effort
